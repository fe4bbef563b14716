//go:build !linux

package sandbox

import (
	"slices"
	"strings"
	"testing"
)

func TestWithoutLinuxThereIsNoSandboxAndItSaysSo(t *testing.T) {
	for _, c := range []struct {
		says string
		o    Options
		ok   bool
	}{
		{"one that is required is refused", Options{Network: Network{Reach: AllNetwork}}, false},
		{"a network that is off is refused", Options{Mode: BestEffort}, false},
		{"so is a list", Options{Mode: Off, Network: Network{Reach: ListedHosts}}, false},
		{"best effort is none", Options{Mode: BestEffort, Network: Network{Reach: AllNetwork}}, true},
		{"off is off", Options{Mode: Off, Network: Network{Reach: AllNetwork}}, true},
	} {
		s, err := New(c.o)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.says, err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), noSandbox) {
				t.Errorf("%s: %v", c.says, err)
			}
			continue
		}
		if got := s.Status(); got.Tier != "none" || got.Reason != noSandbox {
			t.Errorf("%s: %+v", c.says, got)
		}
		env := []string{"A=b"}
		if confined, err := s.Confine(Command{Env: env}); err != nil || confined.Confinement != nil || !slices.Equal(confined.Env, env) {
			t.Errorf("%s: %+v, %v", c.says, confined, err)
		}
	}
}
