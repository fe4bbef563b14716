package redact_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"tipstaff/internal/redact"
)

func TestASecretThatComesUpLaterIsHiddenFromThenOn(t *testing.T) {
	r := redact.New(nil)
	const line = "log --grep correct-horse-7"
	if got := r.Text(line); got != line {
		t.Fatalf("before: %q", got)
	}
	r.Learn("credential:git", "correct-horse-7")
	if got := r.Text(line); strings.Contains(got, "horse") || !strings.Contains(got, "credential:git") {
		t.Errorf("afterwards: %q", got)
	}
	if got := r.Argv([]string{"log", "--grep=correct-horse-7"})[1]; strings.Contains(got, "horse") {
		t.Errorf("as an argument: %q", got)
	}
}

// TestWhatIsLearnedIsBounded: the oldest is dropped, and learning while others
// read is safe.
func TestWhatIsLearnedIsBounded(t *testing.T) {
	r := redact.New(nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 20 {
				r.Learn("x", fmt.Sprintf("secret-number-%d-%d", i, k))
				r.Text("something")
			}
		})
	}
	all.Wait()
	r.Learn("x", "the-latest-secret")
	hidden := 0
	for i := range 8 {
		for k := range 20 {
			text := fmt.Sprintf("secret-number-%d-%d", i, k)
			if r.Text("a "+text+" b") != "a "+text+" b" {
				hidden++
			}
		}
	}
	if hidden > 64 || r.Text("a the-latest-secret b") == "a the-latest-secret b" {
		t.Errorf("%d are known", hidden)
	}
}
