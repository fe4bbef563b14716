//go:build linux

package interp

import (
	"maps"
	"time"
)

// textFile runs a file that the kernel cannot start because it is a text without #!. Bash
// interprets such a file, and so does this shell. The host has judged the file like any
// program, and judges each command in it.
func (s *Shell) textFile(words []string) {
	path := s.find(words[0])
	f, err := s.open(path, reads)
	text, status := s.scriptText(words[0], f, path, err)
	if status != 0 {
		s.status = 126
	}
	if status != 0 || s.crowded() || !s.deeper(words[0]) {
		return
	}
	j := newJob(s.number.Add(1))
	j.begins()
	if s.job != nil {
		s.job.add(asProcess{j})
		defer s.job.remove(asProcess{j})
	}
	if s.job == nil || s.job.number != int(j.own) { // else that job has this number
		s.byNumber.Store(j, j)
		defer s.byNumber.Delete(j)
	}
	n := s.subshell()
	n.begin(path, words[1:], s, j)
	s.status = n.in(func() {
		script, err := n.parse(text)
		if err != nil {
			n.errorf("%v", err)
			n.status = 2
			return
		}
		n.lines(script.File.Stmts)
	})
	s.depth--
	close(j.done)
}

// begin makes a subshell one that has just begun with a file: it knows what a process of
// its own would get from its parent, and nothing else.
func (s *Shell) begin(path string, params []string, parent *Shell, j *job) {
	s.vars = &scope{names: map[string]variable{}}
	for name, text := range parent.exported() {
		if validName(name) {
			s.vars.names[name] = variable{set: true, text: text, exports: true}
		}
	}
	s.first()
	s.vars.names["PPID"] = variable{set: true, text: parent.processNumber(), fixed: true, integer: true}
	maps.DeleteFunc(s.functions, func(_ string, f *function) bool { return !f.exports })
	s.main, s.params, s.level, s.pid = path, params, parent.level+1, int(j.own)
	s.options, s.hashed, s.stack, s.last, s.inherited = options{}, map[string]bool{}, nil, &lastJob{}, nil
	s.status, s.pipestatus, s.loops, s.calls, s.ignores = 0, nil, 0, nil, 0
	s.fed, s.inTrap, s.inSubshell = false, false, false
	s.shift, s.lineno, s.moved, s.offset, s.started = -1, 0, 0, 0, time.Now()
	s.optionAt, s.lastWord, s.job, s.signals = 0, path, j, j.signals
	for name, action := range s.traps { // signals that are ignored stay so
		if action != "" {
			delete(s.traps, name)
			continue
		}
		n, _ := signalNumber(name)
		s.signals.set(n, "", true)
	}
}

// asProcess is a file that a job runs as if it were a program.
type asProcess struct{ *job }

func (p asProcess) Number() int       { return int(p.own) }
func (p asProcess) Signal(number int) { p.signal(number) }
