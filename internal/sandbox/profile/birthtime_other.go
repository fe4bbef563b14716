//go:build !linux

package profile

import "time"

// birthTime is unknown on this system, where nothing is confined.
func birthTime(string) time.Time { return time.Time{} }
