package language_test

import (
	"testing"

	"tipstaff/internal/policy/language"
)

// load reads a policy as a server does.
func load(text string) (*language.Policy, error) {
	return language.Load([]byte(text), "policy.yaml", language.Options{Split: split})
}

// TestPresetsAreRead: every preset with all its examples.
func TestPresetsAreRead(t *testing.T) {
	for _, name := range language.Presets() {
		if _, err := load("version: 1\nextends: [preset:" + name + "]\n"); err != nil {
			t.Errorf("%v", err)
		}
	}
}
