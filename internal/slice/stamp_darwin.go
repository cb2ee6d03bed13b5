package slice

import "syscall"

func stampOf(st *syscall.Stat_t) fileStamp {
	return fileStamp{size: st.Size, mtime: st.Mtimespec.Nano(), ctime: st.Ctimespec.Nano(), ino: st.Ino, dev: uint64(st.Dev)}
}
