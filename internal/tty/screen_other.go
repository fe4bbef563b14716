//go:build !unix

package tty

import "os"

// Width does not find out the width on this system.
func Width(f *os.File) (columns int, terminal bool) { return 0, IsTerminal(f) }
