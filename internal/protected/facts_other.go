//go:build !unix

package protected

import "io/fs"

// ownerOf reports no owner: owners are not checked on this system.
func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }

// links returns 1: hard links are not counted on this system.
func links(fs.FileInfo) uint64 { return 1 }
