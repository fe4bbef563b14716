//go:build !unix

package main

import "os"

// isJournal: there is no journal here.
func isJournal(*os.File, string) bool { return false }

// othersRead: modes say nothing of other users here.
func othersRead(os.FileInfo) bool { return false }
