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

// spans collects what many rules found in the same text. Every rule looks at
// the original, so no rule can be misled by what another has hidden.
type spans []span

func (s *spans) add(from, to int, rule string) {
	if from < to {
		*s = append(*s, span{from, to, rule})
	}
}

// cover returns text with the spans replaced. Spans that overlap become one,
// so that nothing of a secret stays between two cuts. It sorts s.
func (s spans) cover(text string) string {
	slices.SortFunc(s, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	var out strings.Builder
	out.Grow(len(text))
	end := 0
	for i := 0; i < len(s); {
		one := s[i]
		for i++; i < len(s) && s[i].from < one.to; i++ {
			one.to = max(one.to, s[i].to)
		}
		out.WriteString(text[end:one.from])
		out.WriteString("<redacted:")
		out.WriteString(one.rule)
		out.WriteByte('>')
		end = one.to
	}
	out.WriteString(text[end:])
	return out.String()
}
