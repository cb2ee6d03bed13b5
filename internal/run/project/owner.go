package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A ForeignError means that the state found belongs to another user. Otherwise, a user who can
// write to a directory above another user's (in /tmp, on a shared disk) could decide what that
// user's gl works on. Git has the same rule.
type ForeignError struct {
	Root string // of the project
	Path string // what belongs to the other user
	UID  int
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s belongs to another user (uid %d), and gl doesn't use other users' projects unasked: set GREENLIGHT_ROOT=%s if you trust it, or run gl in a project of your own",
		e.Path, e.UID, e.Root)
}

// owned returns a *ForeignError if state of a system in the directory belongs to another user.
func owned(root string, getenv func(string) string) error {
	mine := func(uid int) bool { return trustedOwner(uid, os.Geteuid(), getenv("SUDO_UID")) }
	for _, s := range systems() {
		for _, where := range s.where {
			path := filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(where, "/")))
			// A link belongs to its creator, wherever it leads.
			for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
				info, err := stat(path)
				if err != nil {
					break
				}
				if st, ok := info.Sys().(*syscall.Stat_t); ok && !mine(int(st.Uid)) {
					return &ForeignError{Root: root, Path: path, UID: int(st.Uid)}
				}
				if info.Mode()&os.ModeSymlink == 0 {
					break
				}
			}
		}
	}
	return nil
}

// trustedOwner reports whether a user may use files of that owner: their own, root's, and under
// sudo the caller's.
func trustedOwner(owner, user int, sudo string) bool {
	if owner == user || owner == 0 {
		return true
	}
	caller, err := strconv.Atoi(sudo)
	return user == 0 && err == nil && owner == caller
}
