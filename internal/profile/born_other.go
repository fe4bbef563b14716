//go:build !linux

package profile

import "time"

// born is not known here, where nothing is confined.
func born(string) time.Time { return time.Time{} }
