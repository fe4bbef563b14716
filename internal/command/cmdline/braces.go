package cmdline

import (
	"strconv"
	"strings"
)

// hasBraces reports whether bash would expand braces in a word. The source of
// the rules is brace_gobbler and brace_expand in bash 5.2's braces.c: a brace
// counts if a closing one follows and, between them and in no further pair,
// there is a comma or a valid sequence. A } in front of the first comma is text.
//
// In words that no one writes the answer may be true although bash expands
// nothing, as in {a..{1..3}}.
func (c *characters) hasBraces() bool {
	var open []brace // each inside the previous one
	comma := -1      // the last one, quoted or not
	for i, b := range c.text {
		if b == ',' {
			comma = i
		}
		if !c.free[i] {
			continue
		}
		top := len(open) - 1
		switch {
		case b == '{' && i == 0 && c.is(1, '}'): // find's {}
		case b == '{':
			if top >= 0 {
				open[top].nested = true
			}
			open = append(open, brace{at: i})
		case top < 0:
		case b == ',':
			open[top].parts = true
		case b == '.' && c.is(i+1, '.') && !c.is(i+2, '}'):
			open[top].parts = true
		case b != '}':
		case open[top].parts:
			if comma > open[top].at || !open[top].nested && c.isSequence(open[top].at+1, i) {
				return true
			}
			open = open[:top]
		case top > 0: // to the pair around it, this one is closed
			open = open[:top]
		}
	}
	return false
}

// brace is an open brace.
type brace struct {
	at     int
	parts  bool // a comma, or the dots of a sequence, follows it
	nested bool // another brace follows it
}

// isSequence reports whether the text between two braces is x..y or x..y..step,
// of whole numbers or letters.
func (c *characters) isSequence(from, to int) bool {
	for i := from; i < to; i++ {
		if !c.free[i] {
			return false
		}
	}
	first, rest, _ := strings.Cut(string(c.text[from:to]), "..")
	last, step, stepped := strings.Cut(rest, "..")
	if stepped && !isInteger(step) {
		return false
	}
	return isInteger(first) && isInteger(last) || isLetter(first) && isLetter(last)
}

// isInteger reports whether bash reads text as a number. Blanks around it that C
// skips do not matter. A number that is too large is text to bash in some
// places; it counts here.
func isInteger(text string) bool {
	text = strings.Trim(text, "\v\f\r")
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil || strings.Contains(err.Error(), strconv.ErrRange.Error())
}

func isLetter(text string) bool { return len(text) == 1 && isNameStart(text[0]) && text != "_" }
