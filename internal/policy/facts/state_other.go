//go:build !linux

package host

import "io/fs"

func changeOf(info fs.FileInfo) change { return change{at: info.ModTime()} }
