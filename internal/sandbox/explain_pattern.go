//go:build linux

package sandbox

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first needed: few
// commands need one, and every start of the server would pay for all of them.
type pattern struct{ compiled func() *regexp.Regexp }

func newPattern(text string) *pattern {
	return &pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// Match reports whether the pattern is in a text.
func (p *pattern) Match(text []byte) bool { return p.compiled().Match(text) }
