//go:build !unix

package server

import "os"

// isJournal is always false: this system has no journal.
func isJournal(*os.File, string) bool { return false }

// othersRead is always false: modes say nothing about other users on this
// system.
func othersRead(os.FileInfo) bool { return false }
