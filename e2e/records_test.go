//go:build linux

package e2e

import "tipstaff/e2e/kit"

// recordsOf returns the records of one event.
func recordsOf(s *kit.Server, event string) []map[string]any {
	var out []map[string]any
	for _, r := range s.Records() {
		if r["event"] == event {
			out = append(out, r)
		}
	}
	return out
}
