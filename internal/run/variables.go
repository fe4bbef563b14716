package run

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

const (
	// searchedBytes is how much of the end of each output is searched for names.
	searchedBytes = 4 << 10
	// explainedVariables is how many variables are explained.
	explainedVariables = 3
)

// unset matches the messages by which programs complain of a missing variable.
var unset = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(not|n't|never|un)[ -]?(be )?(set|defined|found|provided|given|configured|specified|present|exist)|\bundefined|\bunbound|\bmissing|\brequire[ds]?\b|\bmust (be|have|provide|specify|set)|\bKeyError|\bis (empty|blank|null|None|nil)\b|\b(needs?|expected|provide|please|export|no)\b|\binvalid`)
})

// explainVariables adds a hint about variables that a program misses and that tipstaff
// keeps from it: variables of the caller that were dropped, now or when the session was
// made, and the server's own. It gives a hint only if the program itself names the
// variable in a message.
func (l Local) explainVariables(g *policy.Grant, r *tipstaff.Result) {
	dropped := slices.Concat(g.Dropped(), g.Request().Dropped)
	if len(dropped)+len(l.Hidden) == 0 {
		return
	}
	var told int
	for _, out := range []struct {
		stream tipstaff.Stream
		sure   bool
	}{{r.Stderr, true}, {r.Stdout, r.ExitCode != 0}} {
		text := endOf(out.stream)
		if !out.sure || !containsAny(text, dropped) && !containsAny(text, l.Hidden) {
			continue
		}
		for line := range bytes.Lines(text) {
			name := missed(line, dropped, l.Hidden)
			if name == "" || has(g.Env(), name) || told == explainedVariables {
				continue
			}
			if why := withheld(name, slices.Contains(dropped, name)); !slices.Contains(r.Refusals, why) {
				r.Refusals = append(r.Refusals, why)
				told++
			}
		}
	}
}

// containsAny is a fast first check: hardly any output names such a variable.
func containsAny(text []byte, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(text, []byte(name)) })
}

// missed returns the name that a line complains about; "" if there is none.
func missed(line []byte, lists ...[]string) string {
	for _, list := range lists {
		for _, name := range list {
			if namesVariable(line, name) && unset().Match(line) {
				return name
			}
		}
	}
	return ""
}

// namesVariable reports whether a name appears in a line as a word of its own,
// and not in an assignment.
func namesVariable(line []byte, name string) bool {
	for {
		_, after, found := bytes.Cut(line, []byte(name))
		if !found || len(name) < 3 {
			return false
		}
		before := line[:len(line)-len(after)-len(name)]
		startsWord := len(before) == 0 || !inName(before[len(before)-1])
		endsWord := len(after) == 0 || !inName(after[0])
		if startsWord && endsWord {
			return true
		}
		line = after
	}
}

func inName(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

func has(env []string, name string) bool {
	return slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// withheld says why the command does not have a variable, and what to do.
func withheld(name string, fromCaller bool) string {
	why := "The server's own variable " + name + " is kept from commands."
	if fromCaller {
		why = "The variable " + name + " was dropped from what you gave and did not reach the command: tipstaff keeps back secrets and what leads programs to other code or places."
	}
	if language.PassFault(name) == "" {
		why += " If the task needs it, ask the operator for environment: {pass: [" + name + "]} in the policy."
	}
	return why
}

func endOf(s tipstaff.Stream) []byte {
	text := s.Head
	if s.Dropped > 0 {
		text = s.Tail
	}
	return text[max(0, len(text)-searchedBytes):]
}
