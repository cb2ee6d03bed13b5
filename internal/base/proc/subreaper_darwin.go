package proc

// Adopt makes this process the parent of its orphaned descendants, on systems that support it;
// this one doesn't.
func Adopt() bool { return false }

// children returns the conservative answer, since the system doesn't tell.
func children() (any, ended bool) { return true, false }
