// Package dirlog reports which names in a directory have changed since the last query. The
// answer is what the kernel had recorded at the time of the query: unlike with a library of
// file events, no goroutine has to receive it first. So a process that takes a lock and then
// queries learns of every change made before the lock was released.
//
// The kernel doesn't record what other machines do to a shared directory, nor a change to a
// file through a memory mapping or through its name in another directory. So users of a Log
// must also check everything from time to time.
package dirlog

import "os"

// A Log records the changes of names in one directory. It isn't safe for concurrent use.
type Log struct {
	path string
	log  *kernelLog  // nil if there is none
	dir  os.FileInfo // the directory it belongs to
}

// Of starts to record the changes in a directory, which needn't exist yet.
func Of(dir string) *Log {
	l := &Log{path: dir}
	l.begin()
	return l
}

// begin starts a new kernel log, if possible.
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

// Changed returns the names that were added, removed or changed since the last call, with
// possible duplicates. If sure is false, any name may have changed: at the first call after
// another directory took the place of this one, after more changes than the kernel buffers, and
// whenever there is no log.
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

// Close ends the log.
func (l *Log) Close() {
	if l.log != nil {
		l.log.close()
		l.log = nil
	}
}
