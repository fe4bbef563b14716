package flags

import (
	"strings"
)

// LastWins keeps the last value of each variable, because the demo appends its
// own.
func LastWins(environ []string) []string {
	at := map[string]int{}
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TERMINAL_") || strings.HasPrefix(name, "TIPSTAFF_") || strings.HasPrefix(name, "ALLOWED_") {
			if i, ok := at[name]; ok {
				out[i] = kv
				continue
			}
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}
