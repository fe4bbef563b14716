package seccomp

// leaf is a run of spans with the same decision, except for a few single
// numbers.
type leaf struct {
	from    uint32
	answers []answer // for the exceptions
	rest    decision
}

// leafAtMost bounds the comparisons of a leaf. A number whose neighbours are
// both decided differently costs one comparison in a leaf and two in the binary
// search, one for each border. A higher bound would not make the filter
// smaller, but slower.
const leafAtMost = 4

// leavesOf puts as many spans into each leaf as fit.
func leavesOf(spans []span) []leaf {
	var leaves []leaf
	for len(spans) > 0 {
		n := 1
		l, _ := leafOf(spans[:n])
		for n < len(spans) {
			longer, ok := leafOf(spans[:n+1])
			if !ok {
				break
			}
			l = longer
			n++
		}
		leaves = append(leaves, l)
		spans = spans[n:]
	}
	return leaves
}

// leafOf makes one leaf of spans, with as few comparisons as possible.
func leafOf(spans []span) (best leaf, ok bool) {
	for _, candidate := range spans {
		l := leaf{from: spans[0].from, rest: candidate.decide}
		fits := true
		for _, s := range spans {
			if s.decide != l.rest {
				fits = fits && s.from == s.to
				l.answers = append(l.answers, answer{equals, s.from, s.decide})
			}
		}
		if fits && len(l.answers) <= leafAtMost && (!ok || len(l.answers) < len(best.answers)) {
			best, ok = l, true
		}
	}
	return best, ok
}

// search decides about a number: binary search down to a leaf, then
// comparisons.
func search(of word, leaves []leaf) decision {
	if len(leaves) == 1 {
		return orElse(of, leaves[0].answers, leaves[0].rest)
	}
	middle := len(leaves) / 2
	return &question{
		of:        of,
		answers:   []answer{{atLeast, leaves[middle].from, search(previousWord, leaves[middle:])}},
		otherwise: search(previousWord, leaves[:middle]),
	}
}
