package gitconfig

import "strings"

// MaySet reports whether keys.txt lets a command set a key, as git config writes
// it (section.name or section.subsection.name), to a value. Where the answer
// depends on the repository, it is no.
func MaySet(key, value string) bool {
	section, rest, ok := strings.Cut(key, ".")
	if !ok {
		return false
	}
	e := Entry{Section: strings.ToLower(section), Name: strings.ToLower(rest), Value: value}
	if at := strings.LastIndexByte(rest, '.'); at >= 0 {
		e.Sub, e.HasSub, e.Name = rest[:at], true, strings.ToLower(rest[at+1:])
	}
	return Repository{}.harmless(&e)
}
