//go:build !unix

package main

import "os"

// terminalWidth does not find out the width on this system.
func terminalWidth(f *os.File) (columns int, terminal bool) { return 0, isTerminal(f) }
