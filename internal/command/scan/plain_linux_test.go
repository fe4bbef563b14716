package scan

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestBashRunsNothingThatAPlainScriptDoesNotTell: of generated scripts, those
// that are plain are run by Bash, and every program that it starts is a step, with
// these words.
func TestBashRunsNothingThatAPlainScriptDoesNotTell(t *testing.T) {
	b := newBash(t)
	wanted := 60
	if testing.Short() {
		wanted = 20
	}
	if n, err := strconv.Atoi(os.Getenv("SCRIPTS")); err == nil {
		wanted = n // by hand
	}
	ran, calls := 0, 0
	for seed := uint64(0); ran < wanted && seed < uint64(wanted)*1000; seed++ {
		r := rand.New(rand.NewPCG(seed, 29))
		g := writer{choice: r.IntN, b: b}
		script := g.list(1 + r.IntN(4))
		s, err := Parse(script)
		if err != nil {
			continue
		}
		steps, err := s.Plain("/w")
		if err != nil || len(steps) < 2 {
			continue
		}
		ran++
		var told []string
		for _, st := range steps {
			told = append(told, strings.Join(append([]string{filepath.Base(st.Words[0])}, st.Words[1:]...), "\x00"))
		}
		found, ended := b.run(t, script)
		if !ended {
			t.Errorf("it does not end, and is taken for plain:\n%s", script)
		}
		calls += len(found)
		for _, call := range found {
			if !slices.Contains(told, call) {
				t.Errorf("Bash ran %q, which is not told\nscript:\n%s\ntold: %q", call, script, told)
			}
		}
	}
	if ran < wanted || calls < wanted {
		t.Errorf("only %d scripts were plain, and Bash ran %d programs", ran, calls)
	}
}
