package policy

import (
	"path"
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/command/programs"
	"tipstaff/internal/policy/language"
)

// layer is one command line of a wrapped command.
type layer struct {
	words      []string
	name       string   // by which its rules are found
	otherNames []string // names of the same file, whose ask and deny rules count as well
	from       programs.Start
	position   programs.Position
	depth      int
	facts      language.Facts
	// contained: only ask and deny rules count, because the program that starts
	// it was allowed to.
	contained bool
	// options are those placeholders (holes) that input may fill with options.
	options []string
	path    *string // the PATH by which it finds programs; nil: the server's
}

// maxLayers bounds how deeply wrappers may be nested.
const maxLayers = 8

// layerJudge judges the layers of a command, from the outermost on.
type layerJudge interface { //nolint:interfacebloat // two judges share one walk
	// layer judges a layer by itself.
	layer(l *layer)
	// admit reports whether the layer around it may start a layer.
	admit(l *layer) bool
	// counts reports whether a program's options matter beyond the programs
	// that they start.
	counts(p *programs.Program) bool
	// passes reports whether a program that sets a variable for these commands may do so,
	// though its name is one that callers may not set.
	passes(assignment string, to []programs.Start) bool
	// find returns the word by which a bare name is judged that is looked up by a PATH.
	find(name, path string) (string, error)
	fault(f fault)
}

// unwrap judges a layer, and every layer that it would start.
func unwrap(j layerJudge, l *layer) {
	j.layer(l)
	for _, name := range append([]string{path.Base(l.words[0])}, l.otherNames...) {
		if p := programs.Starter(name); p != nil {
			unwrapProgram(j, l, p, name)
			return
		}
	}
}

// unwrapProgram reads what a program that starts others would start, and judges
// each of these as a layer of its own. A name that input could fill in is an
// objection, because it is known only when the command runs; what was open in
// the outer layer stays open in the inner one.
func unwrapProgram(j layerJudge, l *layer, p *programs.Program, name string) {
	if l.depth == maxLayers {
		j.fault(fault{l.position.Index, name, "one program that starts another too many"})
		return
	}
	reading := programs.Read(name, l.words[1:], l.position)
	o := outcomeOf(reading)
	alias, more := aliasOf(l)
	starts := append(o.starts, alias...)
	for _, f := range more {
		j.fault(f)
	}
	path := l.path
	for _, a := range o.sets {
		name, value, _ := strings.Cut(a.Text, "=")
		if name == "PATH" {
			path = &value
		} else if why := assignmentFault(name); why != "" && !j.passes(a.Text, starts) {
			o.fault(a, a.Text, "a variable that decides what runs: "+why+passHint("; if the task needs it", name))
		}
	}
	if j.counts(p) {
		for _, f := range o.faults {
			j.fault(f)
		}
	}
	if l.from.Open && reading.Bare {
		j.fault(fault{l.position.Index, name, "which would take the name of a program from its input"})
	}
	for _, s := range starts {
		next := layer{words: s.Words, depth: l.depth + 1, facts: sameRepository(l, &s), contained: s.Itself, options: slices.Concat(s.Options, l.options)}
		s.Holes = append(s.Holes, l.from.Holes...)
		s.Open = s.Open || l.from.Open
		next.from, next.position = s, programs.Position{Index: s.Index, InOne: s.InOne}
		next.position.Index = next.position.Of(1)
		if hole := func(h string) bool { return h == "" || strings.Contains(s.Words[0], h) }; slices.ContainsFunc(s.Holes, hole) {
			j.fault(fault{s.Index, s.Words[0], "whose name would come from the input of " + s.By})
			continue
		}
		if next.path = path; path != nil && !strings.Contains(s.Words[0], "/") && !s.Itself {
			found, err := j.find(s.Words[0], *path)
			if err != nil {
				j.fault(fault{s.Index, s.Words[0], "which is in none of the directories of the PATH that " + s.By + " has"})
				continue
			}
			if byName := next; found != s.Words[0] && !keepsPath(name, l, &s) { // by another PATH
				if !j.admit(&byName) {
					continue
				}
				unwrap(j, &byName)
			}
			next.words = append([]string{found}, s.Words[1:]...)
		}
		if j.admit(&next) {
			unwrap(j, &next)
		}
	}
}

// keepsPath reports whether a program looks up what it starts by the PATH that it has,
// or sets in front: others may have one of their own.
func keepsPath(name string, l *layer, s *programs.Start) bool {
	switch name {
	case "xargs", "find":
		return true
	case "sh", "bash", "dash":
		return len(l.words) > 1 && l.words[1] == "-c"
	case "env":
		set := l.words[1:max(1, len(l.words)-len(s.Words))]
		return !slices.ContainsFunc(set, func(w string) bool { return strings.HasPrefix(w, "-") })
	}
	return slices.Contains(plainWrappers, name)
}

// assignmentFault says why a variable is refused that a command line sets for a program.
func assignmentFault(name string) string {
	if rule, known := environmentRules().named(name, ofCommand); known && rule.keep {
		return ""
	}
	return refusedName(name)
}

// ofWorkspace reports whether a layer is a file of the workspace that its
// wrapper may start: given by a relative path.
func ofWorkspace(s *programs.Start) bool {
	return (s.Project || s.Workspace) && isRelative(s.Words[0])
}

// ofProject reports whether a layer is a program of the project that its
// wrapper may start: neither a program of the system nor a wrapper.
func ofProject(s *programs.Start) bool {
	word := s.Words[0]
	p := programs.Starter(word)
	wraps := p != nil && (p.Wrapper != nil && !p.Wrapper.Project || p.Never != "")
	return s.Project && !strings.Contains(word, "/") && commandKind(word) != systemCommand && !wraps
}

// isRelative reports whether a word is a relative path.
func isRelative(word string) bool {
	return strings.Contains(word, "/") && !strings.HasPrefix(word, "/")
}

// fault is something that a program would do and that cannot be judged, or must
// not happen.
type fault struct {
	index int
	text  string // the part that shows it
	why   string // continues "args[1] …, "
}

// finding turns a fault into a finding for the caller.
func (f fault) finding(rule string) Finding {
	where := "the command"
	if f.index >= 0 {
		where = position(f.index)
	}
	return Finding{
		Rule:    rule,
		Code:    tipstaff.UnsafeArguments,
		Msg:     where + " is not safe: " + quoted(f.text) + ", " + f.why,
		Hint:    "Leave it out, or call the program that is meant by itself, if it is allowed.",
		Details: map[string]any{"index": f.index, "rule": rule, "found": shown(f.text)},
	}
}
