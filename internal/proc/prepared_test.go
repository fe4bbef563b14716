//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"io"
	"maps"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// read gives what a command prints, to the end.
func read(t *testing.T, out *os.File) string {
	t.Helper()
	text, err := io.ReadAll(out)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// preparing are the engines whose commands are children that were prepared.
func preparing(t *testing.T) map[string]*Engine {
	t.Helper()
	all := kinds(t)
	maps.DeleteFunc(all, func(_ string, e *Engine) bool {
		c := confinementOf(e)
		return !e.slots.unshares || c != nil && c.Enclosure.spec.Group.MemoryBytes > 0
	})
	return all
}

// enclosureOf is where the commands of an engine run.
func enclosureOf(t *testing.T, e *Engine) *Enclosure {
	t.Helper()
	if c := confinementOf(e); c != nil {
		return c.Enclosure
	}
	in, err := e.openEnclosure()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// waiting takes a place with a child that waits in it.
func waiting(t *testing.T, e *Engine) (*place, *prepared) {
	t.Helper()
	settle()
	in := enclosureOf(t, e)
	settlePlaces(in)
	p, err := in.take()
	if err != nil {
		t.Fatal(err)
	}
	p.prepare() // if there was no time for it
	p.zygote.await()
	n := p.zygote.next.Load()
	if n == nil || !n.born() || n.pid() == 0 {
		t.Fatal("a place that was ready has no child that waits")
	}
	return p, n
}

// only leaves an enclosure with this place alone.
func only(n *Enclosure, p *place) {
	n.work.Wait()
	for len(n.ready) > 0 {
		(<-n.ready).end()
	}
	n.ready <- p
}

func TestACommandIsTheChildThatWaited(t *testing.T) {
	for name, e := range preparing(t) {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				place, n := waiting(t, e)
				pid := n.pid()
				only(place.in, place)
				p, out := spawn(t, e, "sh", "-c", "echo x")
				if got := p.PID(); got != pid {
					t.Errorf("process %d was waiting, and the command is %d", pid, got)
				}
				if st := p.Status(); st.ExitCode != 0 || st.Err != nil {
					t.Errorf("it ended as %+v", st)
				}
				if got := read(t, out); got != "x\n" {
					t.Errorf("it printed %q", got)
				}
				p.End(0)
			}
		})
	}
}

// TestEveryStepOfAPreparedChildIsNamed spoils what a child does when it gets its
// order, one step after the other.
func TestEveryStepOfAPreparedChildIsNamed(t *testing.T) {
	for name, e := range preparing(t) {
		t.Run(name, func(t *testing.T) {
			l := nothingIn(t, e)
			spoil := func(i int) (steps int) {
				place, n := waiting(t, e)
				p := &Process{engine: e, place: place}
				defer p.release(false)
				place.zygote.next.Store(nil)
				fds, giveBack, err := e.descriptors(l)
				if err != nil {
					t.Fatal(err)
				}
				defer giveBack()
				s := &script{}
				if err := e.program(s, l, p, fds, true); err != nil {
					t.Fatal(err)
				}
				s.steps[i] = step{trap: unix.SYS_CLOSE, arg: [6]uintptr{^uintptr(0)}} // EBADF
				done, err := n.launch(s, n.pid())
				var at *StepError
				if !done || !errors.As(err, &at) || at.Step != s.names[i] || at.Errno != unix.EBADF {
					t.Errorf("step %d (%s) gave %t, %v", i, s.names[i], done, err)
				}
				return len(s.steps)
			}
			steps := spoil(0)
			settle()
			before := countFDs(t)
			for i := range steps {
				spoil(i)
			}
			settle()
			if after := countFDs(t); after > before {
				t.Errorf("%d descriptors became %d", before, after)
			}
		})
	}
}

// TestAChildThatIsGoneIsReplaced: a command runs although the child that waited
// for it, or the zygote that made it, was killed, and neither is left.
func TestAChildThatIsGoneIsReplaced(t *testing.T) {
	for name, e := range preparing(t) {
		for what, victims := range map[string]func(*place, *prepared) []int{
			"the child":        func(_ *place, n *prepared) []int { return []int{n.pid()} },
			"the zygote":       func(p *place, _ *prepared) []int { return []int{p.zygote.pid} },
			"both":             func(p *place, n *prepared) []int { return []int{n.pid(), p.zygote.pid} },
			"the child, again": func(_ *place, n *prepared) []int { return []int{n.pid()} },
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				place, n := waiting(t, e)
				pid, zygote := n.pid(), place.zygote.pid
				for _, victim := range victims(place, n) {
					if err := unix.Kill(victim, unix.SIGKILL); err != nil {
						t.Fatal(err)
					}
					for limit := time.Now().Add(10 * time.Second); running(victim) && time.Now().Before(limit); {
						runtime.Gosched()
					}
				}
				only(place.in, place)
				for range 3 {
					lastEnded(place.in, time.Time{}) // whoever prepares notices
					p, out := spawn(t, e, "sh", "-c", "echo x")
					if st := p.Status(); st.ExitCode != 0 || st.Signal != 0 || st.Err != nil {
						t.Errorf("a command ended as %+v", st)
					}
					if got := read(t, out); got != "x\n" {
						t.Errorf("it printed %q", got)
					}
					p.End(0)
				}
				settle()
				for _, gone := range []int{pid, zygote} {
					if gone == zygote && what != "the zygote" && what != "both" {
						continue
					}
					if gone == pid && what == "the zygote" {
						continue // it became the first command
					}
					if _, _, there := stat(gone); there {
						t.Errorf("process %d is left", gone)
					}
				}
			})
		}
	}
}

// TestAChildThatHasEndedTakesNoOrder: whoever gave it is told so, and may give it
// to another.
func TestAChildThatHasEndedTakesNoOrder(t *testing.T) {
	e := newEngine(t)
	enclose(t, e, nil)
	place, n := waiting(t, e)
	defer place.end()
	place.zygote.next.Store(nil)
	pid := n.pid()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s := &script{}
	s.add("end", unix.SYS_EXIT_GROUP, 0)
	if done, err := n.launch(s, pid); done || err != nil {
		t.Errorf("it took its order: %t, %v", done, err)
	}
	if _, _, there := stat(pid); there {
		t.Error("it is left")
	}
}

// TestPreparedChildrenAreBounded: of many enclosures only the last ones used have
// a child that waits, and in the others commands run all the same.
func TestPreparedChildrenAreBounded(t *testing.T) {
	e := newEngine(t)
	if !e.slots.unshares {
		t.Skip("no children are prepared here")
	}
	const extra = 10
	var all []*Enclosure
	for range keptPrepared + extra {
		n, err := e.NewEnclosure(EnclosureSpec{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		settlePlaces(n)
		all = append(all, n)
	}
	with := 0
	for i, n := range all {
		p := <-n.ready
		if p.zygote.next.Load() != nil {
			with++
		} else if i >= extra {
			t.Errorf("the one of enclosure %d was ended", i)
		}
		n.ready <- p
	}
	if with != keptPrepared {
		t.Errorf("%d wait, of at most %d", with, keptPrepared)
	}
	for _, i := range []int{0, len(all) - 1} {
		confinements.Store(e, &Confinement{Enclosure: all[i]})
		p, _ := spawn(t, e, "true")
		if st := p.Status(); st.ExitCode != 0 || st.Signal != 0 {
			t.Errorf("in enclosure %d a command ended as %+v", i, st)
		}
		p.End(0)
	}
	confinements.Delete(e)
}

// TestAnEnclosureThatIsClosedLeavesNoChild: neither a process nor its descriptor.
func TestAnEnclosureThatIsClosedLeavesNoChild(t *testing.T) {
	e := newEngine(t)
	settle()
	before := countFDs(t)
	n, err := e.NewEnclosure(EnclosureSpec{})
	if err != nil {
		t.Fatal(err)
	}
	settlePlaces(n)
	p := <-n.ready
	n.ready <- p
	pid := p.zygote.next.Load().pid()
	if !running(pid) {
		t.Fatal("no child waits")
	}
	n.Close()
	if _, _, there := stat(pid); there {
		t.Error("the child is left")
	}
	if after := countFDs(t); after-before > 4 { // the control group waits for another
		t.Errorf("%d descriptors became %d", before, after)
	}
}

// TestNobodyTakesAPreparedChildForAnOrphan: what is collected meanwhile are others.
func TestNobodyTakesAPreparedChildForAnOrphan(t *testing.T) {
	for name, e := range preparing(t) {
		t.Run(name, func(t *testing.T) {
			place, n := waiting(t, e)
			only(place.in, place)
			for _, pid := range e.orphans.list(e.orphans.all) {
				if pid == n.pid() {
					t.Error("it is called an orphan")
				}
			}
			var stop atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				for !stop.Load() {
					e.orphans.collect()
				}
			}()
			for range 100 {
				p, _ := spawn(t, e, "true")
				if st := p.Status(); st.ExitCode != 0 || st.Signal != 0 || st.Err != nil {
					t.Errorf("a command ended as %+v", st)
				}
				p.End(0)
			}
			stop.Store(true)
			<-done
		})
	}
}
