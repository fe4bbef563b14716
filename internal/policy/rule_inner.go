package policy

import (
	"path"
	"strings"

	"tipstaff"
)

// inner makes sure that a listed program is no way to start one that is not
// listed: what wrappers (env, xargs, find -exec …) and options (tar -I, git -c
// …) would start must be listed as well, layer by layer.
//
// It looks at arguments only. Programs that execute what the workspace holds
// (interpreters, make, package managers) do so unhindered; their options that
// name other programs are looked at.
//
// Where the content of arguments is not judged, neither is this.
type inner struct{ mode ArgumentMode }

func (r inner) Judge(req *tipstaff.Request, w World, d *Draft) []Finding {
	if req.Family != tipstaff.Terminal || r.mode == ArgumentsOff || len(d.Argv) == 0 || d.Program.Path == "" || d.Allowlist.Any || d.Allowlist.Absent {
		return nil
	}
	j := innerJudge{world: w, draft: d}
	j.line(d.Argv, place{}, started{}, 0)
	return j.found
}

// maxLayers bounds how deep wrappers may be nested.
const maxLayers = 8

type innerJudge struct {
	world World
	draft *Draft
	found []Finding
}

// line judges what a command line would start. rest is where the words after
// the first stand; from is what is known of its origin.
func (j *innerJudge) line(words []string, rest place, from started, layer int) {
	program := path.Base(words[0])
	table := starters()[program]
	if table == nil {
		return
	}
	if layer == maxLayers {
		j.fault(fault{rest.index, program, "one program that starts another too many"})
		return
	}
	got := readStarting(table, program, words[1:], rest)
	for _, f := range got.faults {
		j.fault(f)
	}
	if from.open && got.bare {
		j.fault(fault{rest.index, program, "which would take the name of a program from its input"})
	}
	for _, s := range got.inner {
		s.holes = append(s.holes, from.holes...)
		s.open = s.open || from.open
		j.started(s, layer)
	}
}

// started judges one command line that a program would start.
func (j *innerJudge) started(s started, layer int) {
	word := s.words[0]
	for _, hole := range s.holes {
		if hole == "" || strings.Contains(word, hole) {
			j.fault(fault{s.index, word, "whose name would come from the input of " + s.by})
			return
		}
	}
	if !j.mayStart(s) {
		if len(j.found) < maxFindings {
			j.found = append(j.found, notAllowed(tipstaff.Terminal, word, s.by, &j.draft.Allowlist))
		}
		return
	}
	rest := place{s.index, s.inOne}
	rest.index = rest.of(1)
	j.line(s.words, rest, s, layer+1)
}

// mayStart reports whether a program may be started by another one.
func (j *innerJudge) mayStart(s started) bool {
	word := s.words[0]
	slash, rooted := strings.Contains(word, "/"), strings.HasPrefix(word, "/")
	switch {
	case s.itself:
		return true
	case s.moved && slash && !rooted:
		return false // it would be another file there
	case (s.project || s.workspace) && slash && !rooted:
		return true
	case s.project && !slash && commandKind(word) != systemCommand && !isWrapper(word):
		return true
	}
	_, allowed := j.draft.Allowlist.admit(word, j.world, j.draft.Dir)
	return allowed
}

// isWrapper reports whether a name belongs to the system's own wrappers.
func isWrapper(word string) bool {
	s := starters()[word]
	return s != nil && (s.wraps && !s.project || s.never != "")
}

func (j *innerJudge) fault(f fault) {
	if len(j.found) < maxFindings {
		j.found = append(j.found, f.finding("inner"))
	}
}

// finding tells a fault to the caller.
func (f fault) finding(rule string) Finding {
	where := "the command"
	if f.index >= 0 {
		where = position(f.index)
	}
	return Finding{
		Rule:    rule,
		Code:    tipstaff.UnsafeArguments,
		Msg:     where + " is not safe: " + quoted(f.found) + ", " + f.why,
		Hint:    "Leave it out, or call the program that is meant by itself, if it is allowed.",
		Details: map[string]any{"index": f.index, "rule": rule, "found": shown(f.found)},
	}
}
