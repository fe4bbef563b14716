//go:build !linux

package protected

import (
	"io/fs"
	"time"
)

// changeOf returns the modification time, which every system has.
func changeOf(info fs.FileInfo) time.Time { return info.ModTime() }
