//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// restricted makes an enclosure in namespaces whose instances need a ruleset.
func restricted(t *testing.T) (*Engine, *Enclosure) {
	t.Helper()
	// These tests are the first process of a PID namespace, where an engine reaps all that
	// it does not know: a second one would lose the ends of its commands to the first.
	e, err := oneEngine()
	if err != nil {
		t.Fatal(err)
	}
	n, err := e.NewEnclosure(EnclosureSpec{Namespaces: &NamespaceSpec{OwnNetwork: true}, Domain: DomainOfInstance})
	if err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	t.Cleanup(n.Close)
	return e, n
}

func TestWhatIsToBeRestrictedDoesNotRunBefore(t *testing.T) {
	e, n := restricted(t)
	launch := Launch{Path: "/bin/true", Argv: []string{"true"}, DirPath: "/", Confine: n}
	if _, err := e.Start(launch); !errors.Is(err, errNoRuleset) {
		t.Errorf("without a ruleset: %v", err)
	}
	var at *StepError
	if err := n.Restrict(e.null, InstanceRules{Instance: func(int, int) error { return nil }}); !errors.As(err, &at) || at.Step != enterDomain {
		t.Errorf("what is no ruleset: %v", err)
	}
	if _, err := e.Start(launch); !errors.As(err, &at) || at.Step != enterDomain {
		t.Errorf("after a Restrict that failed: %v", err)
	}
	refused := errors.New("no")
	if err := n.Restrict(e.null, InstanceRules{Instance: func(int, int) error { return refused }}); !errors.Is(err, refused) {
		t.Errorf("an error of Own.Instance became %v", err)
	}
	if _, err := e.Start(launch); !errors.Is(err, refused) {
		t.Errorf("and then %v", err)
	}
}

// TestARestrictedInstanceHasADomain: what a ruleset does not allow is refused, and
// the zygote goes on serving.
func TestARestrictedInstanceHasADomain(t *testing.T) {
	writeFile := uint64(1 << 1) // LANDLOCK_ACCESS_FS_WRITE_FILE, the only thing it handles
	rs, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&writeFile)), unsafe.Sizeof(writeFile), 0)
	if errno != 0 {
		t.Skip("no Landlock: ", errno)
	}
	defer closeFDs([]int{int(rs)})
	e, n := restricted(t)
	instances := 0
	if err := n.Restrict(int(rs), InstanceRules{Instance: func(int, int) error { instances++; return nil }}); err != nil {
		t.Fatal(err)
	}
	confinements.Store(e, n)
	defer confinements.Delete(e)
	file := t.TempDir() + "/file"
	for range 3 {
		for script, code := range map[string]int{"echo x >" + file: 2, "exit 7": 7} {
			p, _ := spawn(t, e, "dash", "-c", script)
			if got := p.Status(); got.ExitCode != code {
				t.Errorf("%s ended as %+v", script, got)
			}
			p.End(0)
		}
	}
	if instances == 0 {
		t.Error("Own.Instance was not called")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Errorf("the server cannot write: %v", err)
	}
}
