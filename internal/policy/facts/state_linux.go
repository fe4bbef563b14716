package facts

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// changeOf uses the change time, which a user cannot set.
func changeOf(info fs.FileInfo) change {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return change{at: info.ModTime()}
	}
	at := time.Unix(st.Ctim.Unix())
	return change{text: fmt.Sprintf("%d %d %d", st.Dev, st.Ino, at.UnixNano()), at: at}
}
