package kit

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tiers, by the names that settings and records use.
const (
	Namespaces = "namespaces"
	Landlock   = "landlock"
	None       = "none"
)

// Sandboxed returns the settings that ask for exactly this tier.
func Sandboxed(tier string) []string {
	switch tier {
	case Namespaces:
		return []string{"TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=namespaces"}
	case Landlock:
		return []string{"TIPSTAFF_SANDBOX=best-effort", "TIPSTAFF_SANDBOX_TIER=landlock"}
	default:
		return []string{"TIPSTAFF_SANDBOX=off"}
	}
}

// WantTier fails the test if the settings of a server name a tier of the sandbox, or
// none at all, and a record of its commands names another one. Every test and
// benchmark that starts a server with such settings calls it when the server has
// ended.
func WantTier(t testing.TB, env []string) {
	t.Helper()
	state, want := setting(env, "TIPSTAFF_STATE_DIR"), setting(env, "TIPSTAFF_SANDBOX_TIER")
	if setting(env, "TIPSTAFF_SANDBOX") == "off" {
		want = None
	}
	if want == "" || state == "" {
		return
	}
	for got := range tiersOf(state) {
		if got != want {
			t.Errorf("the settings name the tier %s, and a command ran in %s", want, got)
		}
	}
}

// setting returns the last value of a variable.
func setting(env []string, name string) (value string) {
	for _, kv := range env {
		if v, is := strings.CutPrefix(kv, name+"="); is {
			value = v
		}
	}
	return value
}

// tiersOf returns the tiers of all records in a state directory. A test may have
// spoiled or removed some.
func tiersOf(state string) map[string]bool {
	found := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(state, "audit", "*", "*.jsonl"))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for line := range bytes.Lines(data) {
			var r struct {
				Sandbox struct {
					Tier string `json:"tier"`
				} `json:"sandbox"`
			}
			if bytes.Contains(line, []byte(`"sandbox"`)) && json.Unmarshal(line, &r) == nil && r.Sandbox.Tier != "" {
				found[r.Sandbox.Tier] = true
			}
		}
	}
	return found
}
