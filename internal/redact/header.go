package redact

import "strings"

// header handles Name: value, the form of HTTP headers and YAML. Because prose
// and the names of tasks (token:generate) have this form too, further
// conditions apply.
func (f *fields) header(n name, from int) (int, int, string) {
	if from >= len(f.s) || f.closes(from) || strings.IndexByte("/@.$", n.before) >= 0 {
		return 0, 0, ""
	}
	rule, strong := headerRule(strings.TrimPrefix(n.text, "-H"))
	if strong {
		return from, f.headerEnd(n, from), rule
	}
	if rule == "" || ordinaryAlone(n.text) {
		return 0, 0, ""
	}
	to := f.bareEnd(from, " \t\r\n")
	if mark, ok := openingMark(f.s[from:]); ok {
		to = closing(f.s, from+len(mark), mark)
	}
	value := unquoted(f.s[from:to])
	alone := f.lineStart(n.from) && from > f.at+1 && (to == len(f.s) || f.s[to] == '\n' || f.s[to] == f.quote)
	if to-from <= maxHarmless && (harmless(rule, value) || !alone && !random(value)) {
		return 0, 0, ""
	}
	return from, to, rule
}

// headerRule is [SecretName] for the names of headers; strong if the name is
// used only for a header.
func headerRule(header string) (rule string, strong bool) {
	if rule := credentialHeader(header); rule != "" {
		return rule, true
	}
	rule, ok := SecretName(header)
	return rule, ok && strings.Contains(strings.Trim(header, "-"), "-")
}

// credentialHeader returns the rule for HTTP headers that hold credentials
// without a telling word in their names; "" for others.
func credentialHeader(name string) string {
	switch name = strings.ToLower(name); name {
	case "authorization", "proxy-authorization", "cookie", "set-cookie":
		return name
	}
	return ""
}

// headerEnd returns where a header's value ends: with the argument or the
// quotation that the header begins; otherwise after one word, or after two if
// the first is a scheme (Bearer).
func (f *fields) headerEnd(n name, from int) int {
	if f.mode == wholeWord && n.before == 0 {
		return len(f.s)
	}
	if f.quote != 0 {
		return f.bareEnd(from, "\r\n")
	}
	to := f.bareEnd(from, " \t\r\n")
	if next := to + 1; next < len(f.s) && f.s[to] == ' ' && letters(f.s[from:to]) {
		to = f.bareEnd(next, " \t\r\n")
	}
	return to
}

// lineStart reports whether only indentation stands between the previous line
// end and i.
func (f *fields) lineStart(i int) bool {
	i = len(strings.TrimRight(f.s[max(0, i-maxField):i], " \t-")) + max(0, i-maxField)
	return i == 0 || f.s[i-1] == '\n' || f.s[i-1] == f.quote
}

// random reports whether a value looks as if a machine generated it.
func random(value string) bool {
	return len(value) >= minKnown && strings.ContainsAny(value, "0123456789")
}

// letters reports whether a word consists of letters and dashes.
func letters(s string) bool {
	for i := range len(s) {
		if c := class(s[i]); c != lower && c != upper && s[i] != '-' {
			return false
		}
	}
	return true
}
