package redact

import (
	"cmp"
	"slices"
	"strings"
)

// span is a part of a text to hide: text[from:to], because of rule.
type span struct {
	from, to int
	rule     string
}

// spans collects what the rules found in the same text. Every rule sees the
// original, so no rule is affected by what another has hidden.
type spans []span

func (s *spans) add(from, to int, rule string) {
	if from < to {
		*s = append(*s, span{from, to, rule})
	}
}

// merged returns the spans in order and joins those that overlap, so that no
// part of a secret remains between them. It sorts s.
func (s spans) merged() spans {
	slices.SortFunc(s, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	var out spans
	for i := 0; i < len(s); {
		one := s[i]
		for i++; i < len(s) && s[i].from < one.to; i++ {
			one.to = max(one.to, s[i].to)
		}
		out = append(out, one)
	}
	return out
}

// mark returns the text that replaces the hidden part.
func (s span) mark() string { return "<redacted:" + s.rule + ">" }

// cover returns text with the spans replaced. It sorts s.
func (s spans) cover(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	end := 0
	for _, one := range s.merged() {
		out.WriteString(text[end:one.from])
		out.WriteString(one.mark())
		end = one.to
	}
	out.WriteString(text[end:])
	return out.String()
}
