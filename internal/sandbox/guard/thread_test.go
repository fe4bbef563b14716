//go:build linux

package guard

import (
	"os"
	"testing"
)

// threads returns the numbers of the threads of this process.
func threads(t *testing.T) map[string]bool {
	t.Helper()
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]bool{}
	for _, one := range list {
		numbers[one.Name()] = true
	}
	return numbers
}

// TestTheThreadOfAGuardIsGivenBack: a thread that ends takes with it each process that
// was started on it with a signal for the death of its parent, as all zygotes are. Go
// ends no thread but one to which an ended goroutine was locked.
func TestTheThreadOfAGuardIsGivenBack(t *testing.T) {
	for range 5 {
		g, err := New(Options{Aside: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		before := threads(t)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		after := threads(t)
		for number := range before {
			if !after[number] {
				t.Fatalf("thread %s ended with the guard", number)
			}
		}
	}
}
