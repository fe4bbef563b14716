package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// repeatDepth is how deep objects within a message are looked at: as deep as what a
// person answers to a question lies in it, in params.inputResponses. Arguments of tools
// are looked at by the tools.
const repeatDepth = 4

// mostMembers bounds the members of an object of the protocol, and of all objects within
// a message: no message of it has a tenth of them, and each one costs more to look at than
// to parse.
const mostMembers = 1000

// errMembers is what is wrong with a message that has too many members.
var errMembers = errors.New("the objects of this message have more than 1000 members outside of arguments")

// repeatedError is what is wrong with an object in which a name stands twice.
type repeatedError string

func (e repeatedError) Error() string {
	return strconv.Quote(string(e[:min(len(e), 100)])) + " stands twice in one object, and which of them counts is not defined; send it once"
}

// wholeObjects says what is wrong with the objects within a message, which may have left
// members in all.
func wholeObjects(members []member, depth int, left *int) error {
	if *left -= len(members); *left < 0 {
		return errMembers
	}
	for _, m := range members {
		if depth == 0 || m.name == "arguments" || len(m.value) == 0 || m.value[0] != '{' {
			continue
		}
		inner, err := membersOf(m.value)
		if err == nil {
			err = wholeObjects(inner, depth-1, left)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// valueOf returns the value of a member, nil if there is none.
func valueOf(members []member, name string) json.RawMessage {
	for _, m := range members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// membersOf splits an object of valid JSON without decoding it; nil if it is no
// object. With an error the members up to there are returned. A message can have
// 32 MiB, so bytes of values are only passed over.
func membersOf(data []byte) (all []member, err error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return nil, nil
	}
	seen := map[string]bool{}
	all = []member{}
	for rest := skipSpace(data[1:]); len(rest) > 0 && rest[0] == '"'; {
		n := valueLength(rest)
		name := nameOf(rest[:n])
		rest = skipSpace(rest[n:])
		rest = skipSpace(bytes.TrimPrefix(rest, []byte{':'}))
		n = valueLength(rest)
		switch {
		case seen[name]:
			return all, repeatedError(name)
		case len(all) == mostMembers:
			return all, errMembers
		}
		seen[name] = true
		all = append(all, member{name, json.RawMessage(rest[:n])})
		rest = skipSpace(rest[n:])
		rest = skipSpace(bytes.TrimPrefix(rest, []byte{','}))
	}
	return all, nil
}

func skipSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }

// nameOf reads a string of JSON. Bytes that are no UTF-8 become U+FFFD, as for every
// other reader here: two names with different ones are the same name.
func nameOf(text []byte) string {
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
