package programs

import "strings"

// awkStarts returns what in an awk program starts other programs or loads code:
// system, a pipe, a coprocess, @load, @include, a call through a variable. It
// also returns what cannot be read in one way only.
//
// A slash is a division in some places and begins a regular expression in
// others, and which of the two depends on the grammar (`if (x) /y/` and `(x) /y/
// z`). Where the sign before it leaves that open, the rest is read in both ways,
// and must be harmless in both: a way in which a regular expression or a string
// never ends is none, because awk refuses the whole program then.
func awkStarts(text string) string { return awkReads(text, awkRegexp) }

// awkPieceStarts is awkStarts for one of several pieces (-e of gawk), of which
// the beginning may continue the one before.
func awkPieceStarts(text string) string { return awkReads(text, awkEither) }

func awkReads(text string, slash awkSlash) string {
	r := awkReader{text: text, branches: 1}
	found, read := r.from(0, slash)
	switch {
	case found != "":
		return found
	case !read:
		return cut(text)
	}
	return ""
}

type awkReader struct {
	text     string
	branches int // how many ways are read so far
}

// awkMaxBranches bounds the work: every slash can double it.
const awkMaxBranches = 64

// awkSlash says what a slash at some place is.
type awkSlash int

const (
	awkEither awkSlash = iota
	awkRegexp
)

// from reads the program from i on. read is false if it cannot be read in this
// way.
func (r *awkReader) from(i int, slash awkSlash) (found string, read bool) {
	for i < len(r.text) {
		switch c := r.text[i]; {
		case c == ' ', c == '\t', c == '\r':
			i++
		case c == '\n', c == ';', c == '{', c == '}':
			i, slash = i+1, awkRegexp
		case c == '#':
			for i < len(r.text) && r.text[i] != '\n' {
				i++
			}
		case c == '"':
			end, ok := r.quoted(i)
			if !ok {
				return "", false
			}
			i, slash = end, awkEither
		case c == '/':
			return r.slash(i, slash)
		case beginsWord(c):
			end := r.wordEnd(i)
			word := r.text[i:end]
			if word == "system" {
				return "system", true
			}
			i, slash = end, awkEither
		case '0' <= c && c <= '9', c == '.':
			i, slash = r.wordEnd(i+1), awkEither
		case c == '|' && strings.HasPrefix(r.text[i:], "||"):
			i, slash = i+2, awkRegexp
		case c == '\\' && r.continues(i):
			i += 2
		case strings.IndexByte("([,!~&?:=<>%^*", c) >= 0:
			i, slash = i+1, awkRegexp
		case strings.IndexByte("+-)]$", c) >= 0: // a++ / b, ++/x/
			i, slash = i+1, awkEither
		default: // | @ \ and what no awk reads
			return cut(r.text[i:]), true
		}
	}
	return "", true
}

// slash reads on behind a slash, in every way that is possible there.
func (r *awkReader) slash(i int, is awkSlash) (found string, read bool) {
	if r.branches++; r.branches > awkMaxBranches {
		return cut(r.text[i:]), true
	}
	end, ok, plain := r.regexp(i)
	if !plain {
		return cut(r.text[i:]), true
	}
	if ok {
		if found, read = r.from(end, awkEither); found != "" {
			return found, true
		}
	}
	if is != awkRegexp {
		f, other := r.from(i+1, awkRegexp)
		found, read = f, read || other
	}
	return found, read
}

// quoted returns the end of the string that begins at i. A string that a line
// end interrupts is none.
func (r *awkReader) quoted(i int) (end int, ok bool) {
	for i++; i < len(r.text); i++ {
		switch r.text[i] {
		case '\n':
			return i, false
		case '\\':
			i++
		case '"':
			return i + 1, true
		}
	}
	return i, false
}

// regexp returns the end of the regular expression that begins at i. plain is
// false where awks disagree about the end: about a slash or a backslash in
// brackets.
func (r *awkReader) regexp(i int) (end int, ok, plain bool) {
	brackets, first := false, 0
	for i++; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '\n':
			return i, false, true
		case c == '\\' && brackets && i+1 < len(r.text) && r.text[i+1] != '/' && !inWord(r.text[i+1]) && strings.IndexByte(".-+*?$^(){}|", r.text[i+1]) < 0:
			return i, false, false
		case c == '\\':
			i++
			if i < len(r.text) && r.text[i] == '\n' {
				return i, false, false
			}
		case c == '/' && brackets:
			return i, false, false
		case c == '/':
			return i + 1, true, true
		case c == '[' && !brackets:
			brackets, first = true, i+1
			if strings.HasPrefix(r.text[first:], "^") {
				first++
			}
		case c == '[' && (strings.HasPrefix(r.text[i:], "[:") || strings.HasPrefix(r.text[i:], "[.") || strings.HasPrefix(r.text[i:], "[=")):
			end := strings.Index(r.text[i+2:], r.text[i+1:i+2]+"]")
			if end < 0 || strings.ContainsFunc(r.text[i+2:i+2+end], notInWord) {
				return i, false, false
			}
			i += 2 + end + 1
		case c == ']' && brackets && i == first:
			return i, false, false // a ] that is one of the characters, for most awks
		case c == ']':
			brackets = false
		}
	}
	return i, false, true
}

func (r *awkReader) wordEnd(i int) int {
	for i < len(r.text) && inWord(r.text[i]) {
		i++
	}
	return i
}

// continues reports whether a backslash continues a statement on the next line,
// at a place where it divides no word.
func (r *awkReader) continues(i int) bool {
	return strings.HasPrefix(r.text[i:], "\\\n") && (i == 0 || !inWord(r.text[i-1])) && (i+2 >= len(r.text) || !inWord(r.text[i+2]) || i > 0 && r.text[i-1] == ' ')
}

func beginsWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func notInWord(r rune) bool { return r > '~' || !inWord(byte(r)) }

func inWord(c byte) bool { return beginsWord(c) || '0' <= c && c <= '9' }
