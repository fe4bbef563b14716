//go:build linux && (amd64 || arm64)

package proc

import "golang.org/x/sys/unix"

// Try makes a process that is held to n and ends at once, to see whether the
// machine lets it. The error names the step at which it did not.
func (e *Engine) Try(n *Enclosure) error {
	p := &Process{engine: e}
	if err := p.takePlace(n); err != nil {
		return err
	}
	defer p.release(false)
	s := &childSteps{}
	p.place.begin(s)
	s.add("end", unix.SYS_EXIT_GROUP, 0)
	e.starting.RLock()
	defer e.starting.RUnlock()
	pid, _, err := e.clone.Load().start(s, cloning{cgroup: p.place.born(), by: p.place.zygote})
	if err == nil {
		reapNow(pid)
	}
	return err
}

const enterDomain = "enter a Landlock domain"
