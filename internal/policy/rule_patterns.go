package policy

import (
	"errors"
	"fmt"
	"strings"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
)

// patterns refuses a command line in which a shell would put names of files in
// the place of a pattern (contract A2). Words of a request have none.
type patterns struct{ offer cmdline.Offer }

// Bounds of what an answer tells: of maxMatches names that are looked for,
// namedMatches are named.
const (
	maxMatches   = 1000
	namedMatches = 5
)

// Judge implements [Rule]. No pattern is expanded here; a pattern that matches
// a file is refused, because a shell would have replaced it and the program
// gets it as it is. It stops at the first one, because each costs a look at
// directories.
func (r patterns) Judge(_ *tipstaff.Request, w World, d *Draft) []Finding {
	if len(d.patterns) == 0 || d.Dir == nil {
		return nil
	}
	l, ok := w.(Lister)
	if !ok {
		return []Finding{r.refuse(d.patterns[0], nil, ErrNotListed)}
	}
	files := l.Files(d.Dir)
	defer func() { _ = files.Close() }()
	for _, p := range d.patterns {
		if found, err := p.Find(files, maxMatches); err != nil || len(found) > 0 {
			return []Finding{r.refuse(p, found, err)}
		}
	}
	return nil
}

// refuse makes the finding about a pattern: it matches names, or why is a reason
// for which that cannot be told.
func (r patterns) refuse(p *cmdline.Pattern, names []string, why error) Finding {
	f := Finding{
		Rule: "command-line/" + string(cmdline.Glob), Code: tipstaff.InvalidCommandLine, Hint: p.Hint(r.offer),
		Details: map[string]any{"kind": string(cmdline.Glob), "column": p.Column, "found": p.Shown()},
	}
	what := fmt.Sprintf("the pattern %s at column %d", p.Shown(), p.Column)
	if len(names) == 0 {
		f.Msg = fmt.Sprintf("%s may match files: %s (%s)", what, unlisted(why), cmdline.Glob)
		return f
	}
	named := make([]string, 0, namedMatches)
	for _, name := range names[:min(namedMatches, len(names))] {
		named = append(named, shown(name))
	}
	f.Details["matches"] = named
	list := strings.Join(named, ", ")
	switch more := len(names) - len(named); {
	case why != nil || len(names) == maxMatches:
		list += " and more"
	case more > 0:
		list += fmt.Sprintf(" and %d more", more)
	}
	f.Msg = fmt.Sprintf("%s matches %s, and no shell runs here that would put names in its place (%s)", what, list, cmdline.Glob)
	return f
}

// unlisted says why the matches of a pattern are not known.
func unlisted(err error) string {
	switch {
	case errors.Is(err, ErrOutside):
		return "it leads out of the command's directory, or to what commands may not see, where nothing is looked up"
	case errors.Is(err, ErrTooManyFiles):
		return "there are too many to compare all with it"
	default:
		return "the directory cannot be listed"
	}
}
