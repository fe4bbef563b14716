package cmdline

import "strings"

// hasTilde reports whether bash could put a directory in the place of a ~: at
// the beginning of a word, and in a word of the form NAME=value, where bash
// looks for one after the first = and after each colon. Whether a user of a name
// exists is not asked.
func (c *characters) hasTilde() bool {
	if c.isHome(0) {
		return true
	}
	sign := c.assignment()
	if sign < 0 {
		return false
	}
	if c.isHome(sign + 1) {
		return true
	}
	for i := sign + 1; i < len(c.text); i++ {
		if c.is(i, ':') && c.isHome(i+1) {
			return true
		}
	}
	return false
}

// assignment returns the place of the = in NAME=, NAME+=, NAME[…]= and
// NAME[…]+=; -1 if the word has no such form.
func (c *characters) assignment() int {
	end := 0
	for end < len(c.text) && c.free[end] && isName(c.text[end]) {
		end++
	}
	if end == 0 || !isNameStart(c.text[0]) {
		return -1
	}
	if c.is(end, '[') {
		for end++; end < len(c.text) && !(c.is(end-1, ']') && (c.is(end, '=') || c.is(end, '+') && c.is(end+1, '='))); {
			end++
		}
	}
	if c.is(end, '+') {
		end++
	}
	if !c.is(end, '=') {
		return -1
	}
	return end
}

// isHome reports whether a tilde-prefix begins at i: ~, and up to a slash or
// colon nothing, one of bash's own signs (~+, ~-, ~2), or what can be
// the name of a user.
func (c *characters) isHome(i int) bool {
	if !c.is(i, '~') {
		return false
	}
	for i++; i < len(c.text); i++ {
		b := c.text[i]
		switch {
		case !c.free[i]:
			return false
		case b == '/', b == ':':
			return true
		case !isName(b) && b < 0x80 && strings.IndexByte("-+.@$", b) < 0:
			return false
		}
	}
	return true
}
