package language

import (
	"strconv"
	"strings"
)

// maxGlobbed bounds how many texts one argument may stand for.
const maxGlobbed = 64

// globbed returns the texts that curl makes of an argument: {a,b} is each of
// its parts, [1-9], [a-z] and [0-9:2] each of their signs. The argument itself
// is among them. Where it stands for more texts than can be judged, the first
// ones count, with those of the beginning complete: that is where the scheme of
// an address stands.
func globbed(text string) []string {
	out := []string{""}
	for rest := text; rest != ""; {
		at := strings.IndexAny(rest, `{[\`)
		if at < 0 {
			at = len(rest)
		}
		parts, length := []string{rest[:at]}, at
		if at == 0 {
			parts, length = globOf(rest)
		}
		var next []string
		for _, before := range out {
			for _, part := range parts {
				if next = append(next, before+part); len(next) == maxGlobbed {
					break
				}
			}
		}
		out, rest = next[:min(len(next), maxGlobbed)], rest[length:]
	}
	if len(out) == 1 && out[0] == text {
		return out
	}
	return append(out, text)
}

// globOf returns what the glob at the beginning of a text stands for, and its
// length. What is none stands for itself.
func globOf(s string) (parts []string, length int) {
	itself := []string{s[:1]}
	if s[0] == '\\' {
		if len(s) > 1 && strings.IndexByte(`{}[]\,`, s[1]) >= 0 {
			return []string{s[1:2]}, 2
		}
		return itself, 1
	}
	end := strings.IndexByte(s, '}')
	if s[0] == '[' {
		end = strings.IndexByte(s, ']')
	}
	if end < 0 {
		return itself, 1
	}
	if s[0] == '{' {
		return strings.Split(s[1:end], ","), end + 1
	}
	span, step, stepped := strings.Cut(s[1:end], ":")
	from, to, ok := strings.Cut(span, "-")
	by, err := strconv.Atoi(step)
	if !ok || stepped && err != nil {
		return itself, 1
	}
	by = max(by, 1)
	if len(from) == 1 && len(to) == 1 && (from[0] < '0' || from[0] > '9') {
		for c := int(from[0]); c <= int(to[0]); c += by {
			parts = append(parts, string(rune(c)))
		}
		return parts, end + 1
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil {
		return itself, 1
	}
	for n := first; n <= last && len(parts) < maxGlobbed; n += by {
		parts = append(parts, strings.Repeat("0", max(0, len(from)-len(strconv.Itoa(n))))+strconv.Itoa(n))
	}
	return parts, end + 1
}
