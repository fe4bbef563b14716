package redact

import "strings"

// demand is what a word says of the next one, or an option of its value: which
// part of it is secret. The zero demand says nothing.
type demand struct {
	rule string
	part part
}

// part says which part of a word is the secret.
type part int

const (
	whole         part = iota
	userPassword       // user:password
	headerValue        // Name: value, if the name says so
	cookies            // name=value; anything else is a file's name
	opensslSource      // pass:password; file:name and env:name are none
	behindColon
	behindPercent
	behindComma
	behindEquals
)

func when(ok bool, d demand) demand {
	if ok {
		return d
	}
	return demand{}
}

// find returns where in word the secret begins, and the rule; "" when word
// holds none.
func (d demand) find(word string) (from int, rule string) {
	switch d.part {
	case userPassword:
		from = d.behind(word, ":", userAndPassword)
	case headerValue:
		return headerStart(word)
	case cookies:
		if !strings.Contains(word, "=") {
			return 0, ""
		}
	case opensslSource:
		from = d.behind(word, ":", func(source, _ string) bool { return source == "pass" })
	case behindColon:
		from = d.behind(word, ":", nil)
	case behindPercent:
		from = d.behind(word, "%", nil)
	case behindComma:
		from = d.behind(word, ",", nil)
	case behindEquals:
		from = d.behind(word, "=", nil)
	}
	secret := unquoted(word[from:])
	if harmless(d.rule, secret) || d.part == whole && strings.HasPrefix(secret, "id=") { // docker build --secret id=…
		return 0, ""
	}
	return from, d.rule
}

// behind returns the index behind the first sep, if ok accepts the two sides
// of it; otherwise the end of word.
func (d demand) behind(word, sep string, ok func(before, after string) bool) int {
	before, after, found := strings.Cut(word, sep)
	if !found || ok != nil && !ok(unquoted(before), after) {
		return len(word)
	}
	return len(before) + len(sep)
}

// userAndPassword tells name:password from a URL, a Windows path and uid:gid.
func userAndPassword(name, password string) bool {
	switch {
	case name == "", strings.HasPrefix(password, "//"), strings.ContainsAny(name, " /%{}()"):
		return false
	case len(name) == 1 && strings.HasPrefix(password, `\`):
		return false
	}
	return !port(name) || !port(password)
}

// headerStart is for the value of -H: every header there with a telling name
// holds a secret, however short.
func headerStart(word string) (from int, rule string) {
	name, value, ok := strings.Cut(word, ":")
	if !ok || unquoted(strings.TrimSpace(value)) == "" {
		return 0, ""
	}
	rule, _ = headerRule(unquoted(name))
	from = len(word) - len(strings.TrimLeft(value, " "))
	return from, rule
}
