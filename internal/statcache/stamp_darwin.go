package statcache

import "syscall"

// Of is the stamp in what the system says of a file.
func Of(st *syscall.Stat_t) Stamp {
	return Stamp{Size: st.Size, Mtime: st.Mtimespec.Nano(), Ctime: st.Ctimespec.Nano(), Ino: st.Ino, Dev: uint64(st.Dev)}
}
