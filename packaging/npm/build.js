#!/usr/bin/env node
// Makes the npm packages of a release from its archives: the wrapper, NAME, and for each platform NAME-linux-x64 and so on,
// with the programs in it. Nothing is downloaded when they are installed.
//
//   node packaging/npm/build.js DIST OUT NAME VERSION
'use strict';

const fs = require('fs');
const path = require('path');
const {execFileSync} = require('child_process');

const [dist, out, name, version] = process.argv.slice(2);
if (!version || !/^(@[a-z0-9-]+\/)?[a-z0-9-]+$/.test(name) || !/^\d+\.\d+\.\d+(-[a-z0-9.-]+)?$/.test(version)) {
  console.error('usage: node packaging/npm/build.js DIST OUT NAME VERSION');
  process.exit(2);
}

const cpus = {amd64: 'x64', arm64: 'arm64'};
const root = path.join(__dirname, '..', '..');
const common = {
  version,
  description: 'Run coding agents through a task graph, in parallel',
  license: 'MIT',
};
const address = process.env.RELEASE_ADDRESS;
if (address) { // npm checks it against the workflow that publishes
  common.repository = {type: 'git', url: `git+${address}.git`};
}

// write makes a package with what every package has.
function write(dir, fields) {
  fs.mkdirSync(dir, {recursive: true});
  fs.writeFileSync(path.join(dir, 'package.json'), JSON.stringify({...fields, ...common}, null, 2) + '\n');
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(dir, 'LICENSE'));
}

const optionalDependencies = {};
for (const os of ['linux', 'darwin']) {
  for (const [arch, cpu] of Object.entries(cpus)) {
    const platform = `${name}-${os}-${cpu}`;
    const dir = path.join(out, `${os}-${cpu}`);
    write(dir, {name: platform, os: [os], cpu: [cpu], files: ['bin'], preferUnplugged: true});
    fs.mkdirSync(path.join(dir, 'bin'));
    execFileSync('tar', ['-xzf', path.join(dist, `greenlight_${version}_${os}_${arch}.tar.gz`), '-C', path.join(dir, 'bin'),
      'gl', 'gl-remote']);
    fs.writeFileSync(path.join(dir, 'README.md'), `The programs of ${name} for ${os} on ${cpu}. Install ${name} instead.\n`);
    optionalDependencies[platform] = version;
  }
}

const wrapper = path.join(out, 'wrapper');
write(wrapper, {
  name,
  bin: {gl: 'gl.js', greenlight: 'gl.js'},
  files: ['gl.js'],
  engines: {node: '>=18'},
  optionalDependencies,
});
fs.copyFileSync(path.join(__dirname, 'gl.js'), path.join(wrapper, 'gl.js'));
fs.chmodSync(path.join(wrapper, 'gl.js'), 0o755);
fs.copyFileSync(path.join(root, 'README.md'), path.join(wrapper, 'README.md'));
