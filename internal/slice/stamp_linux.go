package slice

import "syscall"

func stampOf(st *syscall.Stat_t) fileStamp {
	return fileStamp{size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), ino: st.Ino, dev: st.Dev}
}
