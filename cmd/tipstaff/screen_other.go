//go:build !unix

package main

import "os"

// terminalWidth does not know the width here.
func terminalWidth(f *os.File) (columns int, terminal bool) { return 0, isTerminal(f) }
