package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Member is one name and value of an object, in the order in which they are written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// ErrTooMany is the error for an object with more members than its reader takes.
var ErrTooMany = errors.New("it has too many members")

// Members splits an object of valid JSON without decoding its values; nil if the text
// is no object. A name that occurs twice is a [*RepeatedError], and more than most
// members are [ErrTooMany]; the members up to there are returned with the error. A
// text can have many MiB, so bytes of values are only passed over.
func Members(data []byte, most int) (all []Member, err error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return nil, nil
	}
	seen := map[string]bool{}
	all = []Member{}
	for rest := skipSpace(data[1:]); len(rest) > 0 && rest[0] == '"'; {
		n := valueLength(rest)
		name := Text(rest[:n])
		rest = skipSpace(rest[n:])
		rest = skipSpace(bytes.TrimPrefix(rest, []byte{':'}))
		n = valueLength(rest)
		switch {
		case seen[name]:
			return all, &RepeatedError{name, name}
		case len(all) == most:
			return all, ErrTooMany
		}
		seen[name] = true
		all = append(all, Member{name, json.RawMessage(rest[:n])})
		rest = skipSpace(rest[n:])
		rest = skipSpace(bytes.TrimPrefix(rest, []byte{','}))
	}
	return all, nil
}

// ValueOf returns the value of a member, nil if there is none.
func ValueOf(members []Member, name string) json.RawMessage {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// items splits an array of valid JSON.
func items(data []byte) (all []json.RawMessage) {
	for rest := skipSpace(data[1:]); len(rest) > 0 && rest[0] != ']'; {
		n := valueLength(rest)
		all = append(all, json.RawMessage(rest[:n]))
		rest = skipSpace(rest[n:])
		rest = skipSpace(bytes.TrimPrefix(rest, []byte{','}))
	}
	return all
}

func skipSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }

// Text reads a string of JSON. Bytes that are no UTF-8 become U+FFFD, as for every
// other reader here: two names with different ones are the same name.
func Text(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text[1 : len(text)-1])
	}
	var name string
	_ = json.Unmarshal(text, &name) // it is valid
	return name
}

// valueLength returns the length of the value at the start of valid JSON.
func valueLength(data []byte) int {
	if len(data) == 0 {
		return 0
	}
	switch data[0] {
	case '"':
		return stringLength(data)
	case '{', '[':
		return nestedLength(data)
	}
	if n := bytes.IndexAny(data, ",]} \t\r\n"); n >= 0 {
		return n
	}
	return len(data)
}

// stringLength reads byte by byte where a string has escapes or ends soon, and leaps where
// it is plain. It looks for the next quote once, and not again behind each backslash.
func stringLength(data []byte) int {
	const soon = 64
	plain, quote := 0, 0
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
			plain = 0
			continue
		case '"':
			return i + 1
		}
		if plain++; plain < soon {
			continue
		}
		plain = 0
		if quote <= i {
			n := bytes.IndexByte(data[i:], '"')
			if n < 0 {
				return len(data)
			}
			quote = i + n
		}
		n := bytes.IndexByte(data[i:quote], '\\')
		if n < 0 {
			return quote + 1
		}
		i += n - 1
	}
	return len(data)
}

func nestedLength(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i += stringLength(data[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(data)
}
