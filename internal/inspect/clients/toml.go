package clients

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// toml is a TOML file with a table of servers by name. It is neither read nor changed:
// its one client has a command for that.
type toml struct{ at string }

func (f toml) snippet(entry object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s.%s]\n", f.at, ServerName)
	for _, fl := range entry {
		b.WriteString(fl.key + " = " + tomlValue(fl.value) + "\n")
	}
	return b.String()
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return quoteTOML(v)
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = quoteTOML(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case object:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = tomlKey(f.key) + " = " + tomlValue(f.value)
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return fmt.Sprint(v)
}

var bareKey = pattern(`^[A-Za-z0-9_-]+$`)

func tomlKey(k string) string {
	if bareKey().MatchString(k) {
		return k
	}
	return quoteTOML(k)
}

// quoteTOML writes a string in one line.
func quoteTOML(s string) string {
	if !strings.ContainsAny(s, "'\n\r") && strings.ContainsAny(s, `"\`) && printable(s) {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String() + `"`
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == 0x7f || c == utf8.RuneError })
}
