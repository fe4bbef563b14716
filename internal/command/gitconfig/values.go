package gitconfig

import (
	"fmt"
	"path"
	"strings"
)

// rule is one value that a row of keys.txt allows: a word, or, if kind is not
// nil, all values that kind accepts.
type rule struct {
	word string
	kind func(r Repository, value string) bool
}

// kinds returns the check for a name that keys.txt writes in angle brackets.
// Booleans are not among them, because their value may be missing.
func kinds(name string) func(Repository, string) bool {
	switch name {
	case "<text>":
		return func(Repository, string) bool { return true }
	case "<line>":
		return func(_ Repository, v string) bool { return isLine(v) }
	case "<plain>":
		return func(_ Repository, v string) bool { return isPlain(v) }
	case "<number>":
		return func(_ Repository, v string) bool { return isNumber(v) }
	case "<address>":
		return func(_ Repository, v string) bool { return addressFault(v) == "" }
	case "<remote>":
		return func(_ Repository, v string) bool { return addressFault(v) == "" }
	case "<remotes>":
		return func(_ Repository, v string) bool { return areRemotes(v) }
	case "<worktree>":
		return Repository.owns
	}
	return nil
}

const boolean = "<bool>"

// readRules parses the second column of keys.txt.
func readRules(column string) ([]rule, error) {
	if column == "-" {
		return nil, nil
	}
	var rules []rule
	for word := range strings.SplitSeq(column, "|") {
		r := rule{word: word, kind: kinds(word)}
		if word == "" || r.kind == nil && word[0] == '<' && word != boolean {
			return nil, fmt.Errorf("%q is no kind of values", word)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// address reports whether the rule is about addresses.
func (w rule) address() bool { return w.word == "<address>" || w.word == "<remote>" }

// allows reports whether a command may set the value.
func (w rule) allows(r Repository, e *Entry) bool {
	switch {
	case w.word == boolean:
		return isBool(e)
	case e.NoValue:
		return false
	case w.kind != nil:
		return w.kind(r, e.Value)
	}
	return strings.EqualFold(w.word, e.Value)
}

// isBool is stricter than git, which accepts an empty value as false, and any
// number.
func isBool(e *Entry) bool {
	_, ok := e.isTrue()
	return ok && (e.NoValue || e.Value != "" && len(e.Value) <= len("false"))
}

func isLine(v string) bool {
	return !strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// isPlain excludes values that git could pass to another program as an option.
func isPlain(v string) bool { return isLine(v) && !strings.HasPrefix(v, "-") }

func isNumber(v string) bool {
	digits := strings.TrimRight(strings.TrimPrefix(v, "-"), "kmgKMG")
	return digits != "" && len(v)-len(digits) <= 2 && strings.Trim(digits, "0123456789") == ""
}

// areRemotes reports whether a group of remotes contains harmless names only:
// git splits the value at blanks and fetches from each.
func areRemotes(v string) bool {
	for name := range strings.FieldsSeq(v) {
		if addressFault(name) != "" {
			return false
		}
	}
	return isLine(v)
}

// owns reports whether a value of core.worktree is one that git writes for a
// submodule: a relative path from the submodule's directory below .git/modules
// (or below that of a linked work tree) to a directory inside of a work tree of
// the superproject, and not into a .git. Only the text is judged; the caller
// must check whether a symbolic link leads elsewhere.
func (r Repository) owns(value string) bool {
	super, below, ok := strings.Cut(r.Dir, "/.git/")
	if !ok || path.IsAbs(value) || value == "" || !isLine(value) {
		return false
	}
	if rest, linked := strings.CutPrefix(below, "worktrees/"); linked {
		_, below, _ = strings.Cut(rest, "/")
	}
	if !strings.HasPrefix(below, "modules/") {
		return false
	}
	path := path.Join(r.Dir, value)
	return strings.HasPrefix(path, super+"/") && !strings.Contains(strings.ToLower(path)+"/", "/.git/")
}
