//go:build !linux

package facts

import "io/fs"

func changeOf(info fs.FileInfo) change { return change{at: info.ModTime()} }
