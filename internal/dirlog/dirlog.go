// Package dirlog tells which names in a directory have changed since somebody asked last. What it says is what the kernel had noted when it was
// asked: no goroutine has to have heard of it first, as with a library of file events. So whoever takes a lock and asks then
// learns of every change that was made before the lock was given up.
//
// The kernel notes nothing of what other machines do to a shared directory, nor of a file that is changed through a mapping into memory or
// by its name in another directory. Whoever believes a Log looks at everything now and then, too.
package dirlog

import "os"

// A Log notes the changes of names in one directory. One goroutine at a time may use it.
type Log struct {
	path string
	log  *kernelLog  // nil while there is none
	dir  os.FileInfo // the directory that it is of
}

// Of begins to note the changes in a directory, which need not be there yet.
func Of(dir string) *Log {
	l := &Log{path: dir}
	l.begin()
	return l
}

// begin has the kernel begin a new log, where it can have one.
func (l *Log) begin() {
	l.Close()
	before, err := os.Lstat(l.path)
	if err != nil {
		return
	}
	log, err := openLog(l.path)
	if err != nil {
		return
	}
	if after, err := os.Lstat(l.path); err != nil || !os.SameFile(before, after) {
		log.close()
		return
	}
	l.log, l.dir = log, before
}

// Changed returns the names that have come, gone or changed since it was called last, some of them maybe several times. Where it isn't sure, any may have:
// the first time after a directory has taken the place of another, after more changes than the kernel keeps, and wherever there is no log.
func (l *Log) Changed() (names []string, sure bool) {
	if l.log == nil {
		l.begin()
		return nil, false
	}
	names, over := l.log.read()
	is, err := os.Lstat(l.path)
	if over || err != nil || !os.SameFile(is, l.dir) {
		l.begin()
		return nil, false
	}
	return names, true
}

// Close ends it.
func (l *Log) Close() {
	if l.log != nil {
		l.log.close()
		l.log = nil
	}
}
