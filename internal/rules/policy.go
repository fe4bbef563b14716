package rules

import (
	"slices"
	"time"
)

// Effect is what a rule says of a command. The order is the strictness: the
// zero Effect denies.
type Effect int

const (
	Deny Effect = iota
	Ask
	Allow
)

func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// Policy is a policy file with everything that it extends, ready to judge by.
// It does not change after [Load] and may be used from many goroutines at once.
type Policy struct {
	// Name is the file, as the operator named it.
	Name string
	// File is what was written.
	File File
	// Digest is the SHA-256 of the file with all that it extends, hexadecimal.
	Digest string
	// Past lists allow rules that do not count any more, because their day had
	// ended at load.
	Past []Fault

	byDefault Effect
	entries   map[string]*entry
	any       *entry // of the key *
	names     []string
	lists     []allowlist
	profiles  []profile
	presets   map[string]bool
	now       time.Time
	texts     map[string][]string
}

// entry is what is said of one program.
type entry struct {
	program string
	own     bool // the file names it, not only a preset
	style   *style
	allow   []rule
	ask     []rule
	deny    []rule
	// narrow holds rules of presets that ask: they take nothing but what is
	// allowed.
	narrow []rule
	from   *Command
}

// rule is one compiled rule.
type rule struct {
	item    Item
	name    string // git/deny
	why     string
	tokens  []token // of allow
	content content // of the others
	lends   Credentials
}

// allowlist is a JSON file outside of which nothing is allowed.
type allowlist struct {
	names []string
	at    Pos
	name  string
}

// Who asks. Agent and Task are the caller's own words.
type Who struct{ Agent, Task, Client, Principal string }

// Names lists the programs that have rules of their own in the file, in its
// order. The key * is not among them. The list is the policy's own: it must not
// be changed.
func (p *Policy) Names() []string { return p.names }

// Open reports whether programs that the file does not name may be allowed or
// asked for.
func (p *Policy) Open() bool { return p.any != nil || p.byDefault == Ask }

// Knows reports whether there are rules for a program, in the file or in a
// preset.
func (p *Policy) Knows(program string) bool { return p.entries[program] != nil }

// Known lists the programs that there are rules for, in no order.
func (p *Policy) Known() []string {
	out := make([]string, 0, len(p.entries))
	for name := range p.entries {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Default is where the file says what happens to a command that no rule allows.
func (p *Policy) Default() Pos {
	if at := p.File.Default.At; at.Set() {
		return at
	}
	return Pos{File: p.Name, Line: 1, Col: 1}
}
