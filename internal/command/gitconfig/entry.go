package gitconfig

import (
	"strconv"
	"strings"
)

// Entry is one entry of a configuration. Two entries are equal if and only if
// git cannot tell them apart.
type Entry struct {
	Section string // in lower case, without dots
	Sub     string // the subsection, as written between the quotes
	HasSub  bool   // whether there is a subsection; it may be empty
	Name    string // in lower case
	Value   string // without quotes, escapes and comments
	NoValue bool   // only the name is written, which means true
}

// Key returns section, subsection and name as git config prints them.
func (e Entry) Key() string {
	if e.HasSub {
		return e.Section + "." + e.Sub + "." + e.Name
	}
	return e.Section + "." + e.Name
}

// is reports whether the key is section.name, without a subsection.
func (e Entry) is(section, name string) bool {
	return !e.HasSub && e.Section == section && e.Name == name
}

// isTrue returns the value as a boolean; ok is false if git would refuse it.
func (e Entry) isTrue() (value, ok bool) {
	if e.NoValue {
		return true, true
	}
	switch strings.ToLower(e.Value) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off", "":
		return false, true
	}
	n, err := strconv.Atoi(e.Value)
	return n != 0, err == nil
}
