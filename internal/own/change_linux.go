package own

import (
	"io/fs"
	"syscall"
	"time"
)

// changeOf is when something about a file changed last.
func changeOf(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return time.Unix(st.Ctim.Unix())
}
