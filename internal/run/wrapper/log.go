package wrapper

import (
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/paths"
)

// A logFile is the log of one attempt.
type logFile struct {
	*logfile.Log
	w    *logfile.Writer
	path string
}

func openLog(path string) (*logFile, error) {
	w, err := logfile.Create(path)
	if err != nil {
		return nil, err
	}
	l := &logFile{w: w, path: path}
	l.Log = logfile.NewLog(l)
	return l, nil
}

// Write appends to the file that is open now.
func (l *logFile) Write(p []byte) (int, error) { return l.w.Write(p) }

// reopen goes on in a new file where the old one was removed: what comes from now on is kept.
func (l *logFile) reopen() error {
	if paths.Exists(l.path) {
		return nil
	}
	w, err := logfile.Create(l.path)
	if err != nil {
		return err
	}
	l.w.Close()
	l.w = w
	return nil
}

func (l *logFile) close() { l.w.Close() }
