package protected

import (
	"io/fs"
	"syscall"
	"time"
)

// changeOf returns when a file was last changed, in content or metadata.
func changeOf(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return time.Unix(st.Ctim.Unix())
}
