package policy

import "strings"

// The signs of a shell (policy.md, "Argument rules"). Each function returns the
// part of an argument that shows the sign, or "".

// findSubstitution finds $( anywhere; two backquotes with something between
// them; <( or >( at the start or after a blank or =.
func findSubstitution(s string) string {
	if i := strings.Index(s, "$("); i >= 0 {
		return cutAt(s[i:], 24)
	}
	if parts := strings.Split(s, "`"); len(parts) > 2 {
		for _, between := range parts[1 : len(parts)-1] {
			if between != "" {
				return "`" + cutAt(between, 22) + "`"
			}
		}
	}
	for i := 0; i+1 < len(s); i++ {
		if (s[i] == '<' || s[i] == '>') && s[i+1] == '(' && (i == 0 || isBlank(s[i-1]) || s[i-1] == '=') {
			return cutAt(s[i:], 24)
		}
	}
	return ""
}

// findExpansion finds $ before a letter, _ or {.
func findExpansion(s string) string {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '$' || s[i+1] != '{' && !isNameStart(s[i+1]) {
			continue
		}
		end := i + 2
		for end < len(s) && isName(s[end]) {
			end++
		}
		return cutAt(s[i:end], 40)
	}
	return ""
}

// findRedirection finds an argument that is only a redirection, alone (>, 2>&1)
// or with a file after it (>/dev/null, 2>log, <<EOF). >=18, ->, <T>, </p> and
// >foo are not redirections.
func findRedirection(s string) string {
	rest := strings.TrimLeft(s, "0123456789")
	numbered := rest != s
	rest, both := strings.CutPrefix(rest, "&")
	arrows := len(rest) - len(strings.TrimLeft(rest, "<>"))
	if arrows == 0 || arrows > 3 {
		return ""
	}
	target := strings.TrimPrefix(strings.TrimPrefix(rest[arrows:], "|"), "&")
	switch marked := len(target) < len(rest)-arrows; {
	case target == "", marked && target == "-", marked && strings.Trim(target, "0123456789") == "":
		return s
	case (numbered || both || marked || arrows > 1) && isPath(target):
		return s
	case isPath(target) && (target[0] == '/' || target[0] == '.' || target[0] == '~' || strings.Contains(target[1:], ".") && isNameStart(target[0])):
		return s
	}
	return ""
}

// isPath reports whether s consists only of characters of plain paths.
func isPath(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isName(c) && strings.IndexByte("./~+-@:%,", c) < 0 {
			return false
		}
	}
	return s != ""
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isNameStart(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isName(c byte) bool { return isNameStart(c) || '0' <= c && c <= '9' }

// cutAt shortens an argument for display.
func cutAt(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
