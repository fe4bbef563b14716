//go:build linux

package sandbox

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled at its first use: few commands
// need one, and compiling all would slow down every start of the server.
type pattern struct{ compiled func() *regexp.Regexp }

func newPattern(text string) *pattern {
	return &pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// Match reports whether the pattern matches a text.
func (p *pattern) Match(text []byte) bool { return p.compiled().Match(text) }
