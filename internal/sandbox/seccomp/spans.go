package seccomp

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// span is a range of numbers with the same decision.
type span struct {
	from, to uint32 // both inclusive
	decide   decision
}

// spansOf applies the rules to all possible numbers. A name without a number on
// any architecture, or in two rows, is a mistake in the rules and gives an
// error.
func spansOf(calls table, list []rule) ([]span, error) {
	decisions := map[uint32]decision{}
	for _, n := range calls {
		decisions[n] = allow
	}
	names := everyName()
	ruled := map[string]string{}
	for _, r := range list {
		for name := range strings.FieldsSeq(r.calls) {
			if !names[name] {
				return nil, fmt.Errorf("no architecture has the call %s (%s)", name, r.why)
			}
			if before, twice := ruled[name]; twice {
				return nil, fmt.Errorf("the call %s is in two rows (%s; %s)", name, before, r.why)
			}
			ruled[name] = r.why
			if n, ok := calls[name]; ok {
				decisions[n] = r.decide
			}
		}
	}
	return merge(decisions), nil
}

// merge joins neighbours with the same decision into spans. Numbers without a
// decision are no system calls.
func merge(decisions map[uint32]decision) []span {
	var spans []span
	add := func(from, to uint32, d decision) {
		if n := len(spans); n > 0 && spans[n-1].decide == d {
			spans[n-1].to = to
			return
		}
		spans = append(spans, span{from, to, d})
	}
	next := uint32(0)
	for _, n := range slices.Sorted(maps.Keys(decisions)) {
		if n > next {
			add(next, n-1, enosys)
		}
		add(n, n, decisions[n])
		next = n + 1
	}
	add(next, math.MaxUint32, enosys)
	return spans
}
