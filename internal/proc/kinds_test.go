//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// confinements are the enclosures of the engines: *Engine → *Enclosure.
var confinements sync.Map

func confinementOf(e *Engine) *Enclosure {
	c, ok := confinements.Load(e)
	if !ok {
		return nil
	}
	return c.(*Enclosure)
}

// enclose makes an enclosure with namespaces.
func enclose(t testing.TB, e *Engine, spec *NamespaceSpec) *Enclosure {
	t.Helper()
	n, err := e.NewEnclosure(EnclosureSpec{Namespaces: spec})
	if err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	confinements.Store(e, n)
	t.Cleanup(func() { confinements.Delete(e); n.Close() })
	return n
}

// settle waits until no instance is being made or ended.
func settle() {
	confinements.Range(func(_, c any) bool { c.(*Enclosure).work.Wait(); return true })
	made.Range(func(e, _ any) bool {
		if n := e.(*Engine).open; n != nil {
			n.work.Wait()
		}
		return true
	})
}

// made are all engines of these tests.
var made sync.Map

// stopSweeping stops the periodic sweep of an engine for orphans. A server
// has one engine, which as the first process of a namespace collects every
// child that it does not know. These tests have many, and one would collect
// what another one waits for: on a slow machine, a command that has just ended.
func stopSweeping(e *Engine) {
	e.orphans.stop()
	e.orphans = &orphans{engine: e, children: e.orphans.children, adopted: e.orphans.adopted, quit: make(chan struct{})}
}

// resting says that the shared engine must not sweep for orphans now.
var resting atomic.Bool

// keepFromSweeping keeps the shared engine from sweeping for orphans.
func keepFromSweeping(t *testing.T) (again func()) {
	t.Helper()
	if resting.Swap(true) {
		return func() {}
	}
	mu := &newEngine(t).orphans.mu
	mu.Lock()
	return func() {
		mu.Unlock()
		resting.Store(false)
	}
}

// kinds are the engines that this machine can make: with and without control
// groups, with clone3 and without, in namespaces.
func kinds(t *testing.T) map[string]*Engine {
	t.Helper()
	t.Cleanup(keepFromSweeping(t)) // as the others: see stopSweeping
	all := map[string]*Engine{}
	changes := map[string]func(*Engine){
		"best": func(*Engine) {},
		"marks": func(e *Engine) {
			_ = e.cgroups.close()
			e.cgroups, e.noCgroups = nil, errors.New("the test wants it so")
		},
		"clone":                func(e *Engine) { e.clone.Store(&cloner{legacy: true}) },
		"clone and marks":      func(e *Engine) { _ = e.cgroups.close(); e.cgroups = nil; e.clone.Store(&cloner{legacy: true}) },
		"namespaces":           func(*Engine) {},
		"clone and namespaces": func(e *Engine) { e.clone.Store(&cloner{legacy: true}) },
		"confined":             func(*Engine) {},
		"confined and marks": func(e *Engine) {
			_ = e.cgroups.close()
			e.cgroups, e.noCgroups = nil, errors.New("the test wants it so")
		},
		"no slots": func(e *Engine) { e.slots.close(); e.slots = &fdSlots{null: e.null} },
	}
	if testcmdtest.Alone() { // there are controllers
		for _, name := range []string{"bounded", "bounded memory", "bounded, namespaces", "bounded memory, namespaces"} {
			changes[name] = func(*Engine) {}
		}
	}
	for name, change := range changes {
		e, err := NewEngine(Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if e.cgroups == nil && strings.Contains(name, "marks") {
			change = func(*Engine) {}
		}
		change(e)
		stopSweeping(e)
		made.Store(e, true)
		all[name] = e
		if strings.Contains(name, "confined") {
			enclose(t, e, nil)
		}
		if strings.HasPrefix(name, "bounded") {
			l, spec := GroupLimits{Processes: 1000}, (*NamespaceSpec)(nil)
			if strings.Contains(name, "memory") {
				l.MemoryBytes = 1 << 30
			}
			if strings.Contains(name, "namespaces") {
				spec = &NamespaceSpec{OwnNetwork: true}
			}
			bound(t, e, l, spec)
			continue
		}
		if strings.Contains(name, "namespaces") {
			enclose(t, e, &NamespaceSpec{OwnNetwork: true})
		}
	}
	return all
}

// TestEveryKindTellsHowManyProcessesWereLeftBehind: those that a program had not
// waited for, and none that has ended already.
func TestEveryKindTellsHowManyProcessesWereLeftBehind(t *testing.T) {
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			for script, want := range map[string]int{"true": 0, "true | true": 0, "sleep 60 &": 1, "sleep 60 & setsid sleep 60 &": 2} {
				p, _ := spawn(t, e, "sh", "-c", "{ "+script+"\n} </dev/null >/dev/null")
				if st := p.Status(); st.ExitCode != 0 || st.Err != nil {
					t.Errorf("%s: %+v", script, st)
				}
				if left := p.End(time.Second); left != want {
					t.Errorf("%s: %d were left behind, want %d", script, left, want)
				}
				if again := p.End(0); again != 0 {
					t.Errorf("%s: at the second time %d", script, again)
				}
			}
			p, _ := spawn(t, e, "sh", "-c", "sleep 60 & sleep 60")
			if left := p.End(time.Second); left != 0 {
				t.Errorf("a program that was ended had left %d behind", left)
			}
		})
	}
}
