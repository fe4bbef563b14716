package redact

import "strings"

// demand is what a word says of the next one, or an option of its value: which
// part of it is secret. The zero demand says nothing.
type demand struct {
	rule string
	part part
}

// part says which part of a word is the secret: one of the shapes of
// [programs.Secret], or header.
type part string

const (
	whole        part = ""
	userPassword part = "user"    // user:password
	headerValue  part = "header"  // Name: value, if the name says so
	cookies      part = "cookies" // name=value; anything else is a file's name
	source       part = "source"  // pass:password; file:name and env:name are none
	logon        part = "logon"   // user/password@database
)

// separators are those of the parts that stand behind one.
var separators = map[part]string{"colon": ":", "percent": "%", "comma": ",", "equals": "="}

func when(ok bool, d demand) demand {
	if ok {
		return d
	}
	return demand{}
}

// find returns where in word the secret begins and ends, and the rule; "" when
// word holds none.
func (d demand) find(word string) (from, to int, rule string) {
	switch d.part {
	case userPassword:
		from = d.behind(word, ":", userAndPassword)
	case headerValue:
		from, rule = headerStart(word)
		return from, quotedEnd(word, from), rule
	case cookies:
		if !strings.Contains(word, "=") {
			return 0, 0, ""
		}
	case source:
		from = d.behind(word, ":", func(source, _ string) bool { return source == "pass" })
	case logon:
		from = d.behind(word, "/", func(user, _ string) bool { return user != "" && user[0] != '@' && !pathLike(word) })
		if at := strings.LastIndexByte(word, '@'); at > from {
			return from, at, d.rule
		}
	default:
		if separator := separators[d.part]; separator != "" {
			from = d.behind(word, separator, nil)
		}
	}
	secret := unquoted(word[from:])
	if harmless(d.rule, secret) || d.part == whole && strings.HasPrefix(secret, "id=") { // docker build --secret id=…
		return 0, 0, ""
	}
	return from, quotedEnd(word, from), d.rule
}

// quotedEnd returns where a secret ends that begins at from in word: before the
// closing mark, if the secret begins within the quotation.
func quotedEnd(word string, from int) int {
	last := len(word) - 1
	if from > 0 && last >= from && (word[0] == '"' || word[0] == '\'') && word[last] == word[0] {
		return last
	}
	return len(word)
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
