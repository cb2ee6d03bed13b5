#!/usr/bin/env node
// Runs the gl of this machine's platform package, which npm has installed as an optional dependency. Arguments, standard
// input and output, the terminal, signals and the exit code are gl's own.
'use strict';

const path = require('path');
const {spawn} = require('child_process');
const {constants} = require('os');

const {name} = require('./package.json');

// program returns the path of gl in the platform's package.
function program() {
  const platform = `${name}-${process.platform}-${process.arch}`;
  try {
    return path.join(path.dirname(require.resolve(`${platform}/package.json`)), 'bin', 'gl');
  } catch (err) {
    if (err.code !== 'MODULE_NOT_FOUND') {
      throw err;
    }
    console.error(`gl: ${platform} isn't installed. gl runs on Linux and macOS, on x64 and arm64; on these, install again` +
      ` with optional dependencies: npm install ${name} --include=optional`);
    process.exit(127);
  }
}

// become replaces this process by gl where Node can do that, so that gl is a child of what started this process.
function become(gl, args) {
  if (typeof process.execve === 'function') {
    process.removeAllListeners('warning');
    process.on('warning', () => {}); // execve is experimental
    process.execve(gl, [gl, ...args], process.env);
  }
}

// run starts gl and passes signals on to it. Those of a terminal's keys reach gl from the terminal itself; a second one would
// mean something else to gl.
function run(gl, args) {
  let child;
  const handlers = new Map();
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']) {
    const key = signal === 'SIGINT' || signal === 'SIGQUIT';
    const handler = () => {
      if (!(key && process.stdin.isTTY)) {
        child.kill(signal);
      }
    };
    handlers.set(signal, handler);
    process.on(signal, handler);
  }
  child = spawn(gl, args, {stdio: 'inherit'}); // after the handlers: a signal may come at once
  child.on('error', (err) => {
    console.error(`gl: ${gl} can't be started: ${err.message}`);
    process.exit(126);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) {
      process.exit(code);
    }
    for (const [of, handler] of handlers) {
      process.removeListener(of, handler);
    }
    process.exitCode = 128 + constants.signals[signal];
    process.kill(process.pid, signal);
  });
}

const gl = program();
become(gl, process.argv.slice(2));
run(gl, process.argv.slice(2));
