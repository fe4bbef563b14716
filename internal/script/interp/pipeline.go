//go:build linux

package interp

import (
	"sync"
)

// pipeline runs commands side by side, each in a subshell.
func (s *Shell) pipeline(list []part) {
	status := make([]int, len(list))
	var before *file
	var all sync.WaitGroup
	for i, p := range list {
		if s.crowded() {
			before.release()
			break
		}
		sub := s.subshell()
		if i > 0 {
			sub.files.set(0, before)
			sub.fed = true
		}
		if i < len(list)-1 {
			r, w, err := pipe()
			if err != nil {
				s.fail(&failure{text: "pipe: " + reason(err), kind: endsShell, code: 1})
				sub.end()
				break
			}
			before = r
			sub.files.set(1, w)
			if p.all {
				sub.files.set(2, w.hold())
			}
		}
		sub.loops, sub.final, sub.quiet = 0, true, quiet(p.st)
		all.Go(func() { status[i] = sub.in(func() { sub.statement(p.st) }) })
	}
	all.Wait()
	if s.jump != noJump {
		return
	}
	s.pipestatus = status
	s.status = status[len(status)-1]
	if s.options.pipefail {
		for _, code := range status {
			if code != 0 {
				s.status = code
			}
		}
	}
}
