package policy

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"tipstaff/internal/redact"
)

//go:embed builtin/environment.txt
var environmentText string

// owner says who has set the judged variable.
type owner int

const (
	ofServer owner = 1 << iota
	ofCaller
	ofCommand // a caller, for one command or script, and not for a session
)

// variableRule is one row of builtin/environment.txt, for one name.
type variableRule struct {
	keep       bool
	ambient    bool // not kept, though it leads a person's own programs to no other code
	owners     owner
	prefix     string
	anycase    bool
	exceptions []string
	why        string // for callers; of a row that refuses
}

// variableRules is the table: names first, then prefixes in their order.
type variableRules struct {
	exact  map[string][]variableRule
	prefix []variableRule
}

var environmentRules = sync.OnceValue(func() *variableRules {
	rules, err := parseVariableRules(environmentText)
	if err != nil {
		panic("builtin/environment.txt: " + err.Error()) // a test reads it
	}
	return rules
})

// parseVariableRules parses environment.txt: rows of rules, each under the
// reason (why) that stands before it; but names exceptions from the prefixes of
// the row before. A row that cannot be parsed is an error and is never skipped,
// because most rows refuse something.
func parseVariableRules(text string) (*variableRules, error) {
	rules := &variableRules{exact: map[string][]variableRule{}}
	first := 0 // the first of the prefixes that a "but" line refers to
	why := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		head, names, ok := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case !ok:
			return nil, fmt.Errorf("no colon in %q", line)
		case head == "why":
			why = strings.TrimSpace(names)
			continue
		case head == "but":
			for i := first; i < len(rules.prefix); i++ {
				rules.prefix[i].exceptions = strings.Fields(names)
			}
			continue
		}
		rule, how, err := parseVariableHead(strings.Fields(head))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		rule.why = why
		first = len(rules.prefix)
		for name := range strings.FieldsSeq(names) {
			if how == "exact" {
				rules.exact[name] = append(rules.exact[name], rule)
				continue
			}
			rule.prefix, rule.anycase = name, how == "anycase"
			rules.prefix = append(rules.prefix, rule)
		}
	}
	return rules, nil
}

// parseVariableHead parses the three words in front of a colon: the action, the
// owner of the variable, and how names are compared.
func parseVariableHead(words []string) (rule variableRule, how string, err error) {
	if len(words) != 3 {
		return rule, "", fmt.Errorf("%d words instead of three", len(words))
	}
	switch words[0] {
	case "keep":
		rule.keep = true
	case "refuse", "hide": // no command gets either
		rule.ambient = words[0] == "hide"
	default:
		return rule, "", fmt.Errorf("unknown action %q", words[0])
	}
	switch words[1] {
	case "server":
		rule.owners = ofServer
	case "caller":
		rule.owners = ofCaller
	case "command":
		rule.owners = ofCommand
	case "both":
		rule.owners = ofServer | ofCaller
	default:
		return rule, "", fmt.Errorf("unknown owner %q", words[1])
	}
	switch how = words[2]; how {
	case "exact", "prefix", "anycase":
		return rule, how, nil
	}
	return rule, "", fmt.Errorf("unknown match %q", how)
}

// passesServer reports whether a variable of the server may reach a command.
func (r *variableRules) passesServer(name, value string) bool {
	rule, known := r.named(name, ofServer)
	keep := rule.keep
	if !known {
		_, secret := redact.SecretName(name)
		keep = !secret
	}
	return keep && faultOfValue(name, value) == ""
}

// refusedName says why a variable of a caller is refused, "" if it passes. Only the name
// counts: it says whether programs take the value for code, for options that name code,
// or for where they look for code and configuration. What a value does, only the program
// knows.
func refusedName(name string) string {
	if rule, known := environmentRules().named(name, ofCaller); known {
		if rule.keep {
			return ""
		}
		return rule.why
	}
	return environmentTables().fault(name)
}

// sessionFault says why a variable of a session is dropped, "" if it is not: besides
// names that are refused, secrets do not reach the commands of a session, and neither
// does a value that any shell or make would run.
func sessionFault(name, value string) string {
	if why := refusedName(name); why != "" {
		return why
	}
	_, known := environmentRules().named(name, ofCaller)
	if _, secret := redact.SecretName(name); secret && !known {
		return "its name promises a secret"
	}
	if findSubstitution(value) != "" {
		return "its value holds a command that make and shells would run"
	}
	return faultOfValue(name, value)
}

// LeadsToCode says why a variable of a shell's own environment can make its programs
// start or load other code; "" if neither a row of the table nor the words of the name
// say so. Only the name counts. With place, it does so where its value leads to what a
// command can change.
func LeadsToCode(name string) (why string, place bool) {
	if rule, known := environmentRules().named(name, ofCaller); known {
		if rule.keep || rule.ambient {
			return "", false
		}
		return rule.why, false
	}
	switch class, _ := environmentTables().classOf(name); class {
	case programClass:
		return "its name says that it names a program", false
	case optionsClass:
		return "its name says that it holds options of a program", false
	case placeClass:
		return "its name says that programs load what is there, where the project can be changed", true
	}
	return "", false
}

// named finds the row of a name; an exact row takes precedence over a prefix,
// and a row that refuses over one that keeps.
func (r *variableRules) named(name string, whose owner) (found variableRule, known bool) {
	for _, rule := range r.exact[name] {
		if rule.owners&whose == 0 {
			continue
		}
		if !rule.keep {
			return rule, true
		}
		found, known = rule, true
	}
	if known {
		return found, true
	}
	for i := range r.prefix {
		if rule := &r.prefix[i]; rule.owners&whose != 0 && rule.matches(name) {
			return *rule, true
		}
	}
	return variableRule{}, false
}

func (r *variableRule) matches(name string) bool {
	if r.anycase {
		name = strings.ToLower(name)
	}
	if !strings.HasPrefix(name, r.prefix) {
		return false
	}
	for _, except := range r.exceptions {
		if name == except || strings.HasSuffix(except, "_") && strings.HasPrefix(name, except) {
			return false
		}
	}
	return true
}

// faultOfValue returns why a value may not reach commands under any name; "" if
// it may.
func faultOfValue(name, value string) string {
	if strings.HasPrefix(value, "() ") {
		return "its value is a function to a shell"
	}
	if locale := strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE"; locale && strings.ContainsAny(value, "/%") {
		return "its value is no locale but leads to a file"
	}
	if _, secret := redact.SecretValue(value); secret {
		return "its value looks like a secret"
	}
	return ""
}
