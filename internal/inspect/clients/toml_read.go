package clients

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// tomlLine is a table's header or a key with its value, with its place in the
// text: whole lines.
type tomlLine struct {
	from, to int
	header   []string // of a table; nil: a key
	array    bool     // [[header]]
	key      []string
	value    any // string, int, bool, []any, map[string]any, or tomlWord
	valueAt  [2]int
}

// tomlWord is a value that entries do not have, as it is written: a date, a
// fraction.
type tomlWord string

// tomlReader reads TOML 1.0 as far as it takes to find tables and keys, and to
// refuse what no reader of TOML would take.
type tomlReader struct {
	text string
	at   int
}

type tomlFault struct{ error }

func (r *tomlReader) fail(format string, args ...any) {
	line := 1 + strings.Count(r.text[:min(r.at, len(r.text))], "\n")
	panic(tomlFault{fmt.Errorf("it is not TOML: line %d: %s", line, fmt.Sprintf(format, args...))})
}

// readTOML reads a text. It refuses keys and tables that stand twice.
func readTOML(text string) (lines []tomlLine, err error) {
	defer func() {
		if p := recover(); p != nil {
			fault, ok := p.(tomlFault)
			if !ok {
				panic(p)
			}
			err = fault.error
		}
	}()
	r := &tomlReader{text: text}
	seen := map[string]bool{}
	var table []string
	elements := map[string]int{}
	for r.blank(true); r.at < len(r.text); r.blank(true) {
		l := tomlLine{from: strings.LastIndexByte(r.text[:r.at], '\n') + 1}
		if r.peek() == '[' {
			r.header(&l)
			table = l.header
			if l.array {
				elements[path(table)]++
				table = append(slices.Clone(table), fmt.Sprint("#", elements[path(table)]))
			} else if r.once(seen, table, "table") {
				seen[path(table)] = true
			}
		} else {
			l.key = r.keys()
			r.expect('=')
			r.blank(false)
			l.valueAt[0] = r.at
			l.value = r.value(0)
			l.valueAt[1] = r.at
			full := append(slices.Clone(table), l.key...)
			r.once(seen, full, "key")
			seen[path(full)] = true
		}
		r.endOfLine()
		l.to = r.at
		lines = append(lines, l)
	}
	return lines, nil
}

func path(keys []string) string { return strings.Join(keys, "\x00") }

func (r *tomlReader) once(seen map[string]bool, keys []string, what string) bool {
	if seen[path(keys)] {
		r.fail("the %s %s stands twice", what, strings.Join(keys, "."))
	}
	return true
}

func (r *tomlReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// blank skips white space and, with lines, also comments and ends of lines.
func (r *tomlReader) blank(lines bool) {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ' ' || c == '\t':
		case lines && (c == '\n' || c == '\r' && strings.HasPrefix(r.text[r.at:], "\r\n")):
		case lines && c == '#':
			r.comment()
			continue
		default:
			return
		}
		r.at++
	}
}

func (r *tomlReader) comment() {
	if i := strings.IndexByte(r.text[r.at:], '\n'); i >= 0 {
		r.at += i
	} else {
		r.at = len(r.text)
	}
}

func (r *tomlReader) endOfLine() {
	r.blank(false)
	if r.peek() == '#' {
		r.comment()
	}
	if strings.HasPrefix(r.text[r.at:], "\r\n") {
		r.at++
	}
	if r.at < len(r.text) && r.text[r.at] != '\n' {
		r.fail("%q is left over at the end of the line", rest(r.text[r.at:]))
	}
	r.at = min(r.at+1, len(r.text))
}

// rest is the beginning of a text, for a message.
func rest(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), 20)]
}

func (r *tomlReader) expect(c byte) {
	r.blank(false)
	if r.peek() != c {
		r.fail("%q is expected before %q", string(c), rest(r.text[r.at:]))
	}
	r.at++
}

func (r *tomlReader) header(l *tomlLine) {
	r.at++
	if l.array = r.peek() == '['; l.array {
		r.at++
	}
	l.header = r.keys()
	r.expect(']')
	if l.array {
		if r.peek() != ']' {
			r.fail("the header of a list of tables ends with ]]")
		}
		r.at++
	}
}

// keys reads a key with its dots.
func (r *tomlReader) keys() (keys []string) {
	for {
		r.blank(false)
		switch c := r.peek(); {
		case c == '"' || c == '\'':
			if strings.HasPrefix(r.text[r.at:], strings.Repeat(string(c), 3)) {
				r.fail("a key cannot have several lines")
			}
			keys = append(keys, r.str())
		default:
			word := bareKey().FindString(r.text[r.at:])
			if word == "" {
				r.fail("a key is expected before %q", rest(r.text[r.at:]))
			}
			r.at += len(word)
			keys = append(keys, word)
		}
		r.blank(false)
		if r.peek() != '.' {
			return keys
		}
		r.at++
	}
}

// pattern compiles a regular expression when it is needed: a server never does.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	bareKey  = pattern(`^[A-Za-z0-9_-]+`)
	bareWord = pattern(`^[A-Za-z0-9_+.:-]+( \d\d:[0-9:.Zz+-]+)?`)
	knownAs  = pattern(`^([+-]?(\d[\d_]*(\.\d[\d_]*)?([eE][+-]?\d[\d_]*)?|inf|nan)|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|\d{4}-\d\d-\d\d([Tt ].+)?|\d\d:\d\d:\d\d(\.\d+)?)$`)
)

func (r *tomlReader) value(depth int) any {
	if depth > 100 {
		r.fail("it is nested too deeply")
	}
	switch c := r.peek(); c {
	case '"', '\'':
		return r.str()
	case '[':
		return r.list(depth)
	case '{':
		return r.inline(depth)
	}
	word := bareWord().FindString(r.text[r.at:])
	switch {
	case word == "true" || word == "false":
		r.at += len(word)
		return word == "true"
	case word == "" || !knownAs().MatchString(word):
		r.fail("a value is expected before %q", rest(r.text[r.at:]))
	}
	r.at += len(word)
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	return tomlWord(word)
}

func (r *tomlReader) list(depth int) any {
	r.at++
	items := []any{}
	for {
		r.blank(true)
		if r.peek() == ']' {
			r.at++
			return items
		}
		items = append(items, r.value(depth+1))
		r.blank(true)
		if r.peek() == ',' {
			r.at++
		} else if r.peek() != ']' {
			r.fail("a list goes on with , or ends with ]")
		}
	}
}

func (r *tomlReader) inline(depth int) any {
	r.at++
	m := map[string]any{}
	for {
		r.blank(false)
		if r.peek() == '}' {
			r.at++
			return m
		}
		name := strings.Join(r.keys(), ".")
		if _, twice := m[name]; twice {
			r.fail("the key %s stands twice", name)
		}
		r.expect('=')
		r.blank(false)
		m[name] = r.value(depth + 1)
		r.blank(false)
		if r.peek() == ',' {
			r.at++
		} else if r.peek() != '}' {
			r.fail("a table in braces goes on with , or ends with }")
		}
	}
}
