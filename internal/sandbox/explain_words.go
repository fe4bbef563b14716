//go:build linux

package sandbox

import "bytes"

// wordBytes is how long each word of a wordSearch is at least.
const wordBytes = 5

const (
	blockBytes = 3
	blockBits  = 5 * blockBytes // five bits of a byte tell letters apart
)

// wordSearch finds words of several sets in a text, in upper or lower case, and
// reads about every third block of bytes: the algorithm of Wu and Manber ("A fast
// algorithm for multi-pattern searching", 1994).
type wordSearch struct {
	// skip is how far the search may advance if a block stands at the end of the
	// window; 0: a word may begin with the window. The index is a hash.
	skip [1 << blockBits]uint8
	// words are those whose first wordBytes end in a block.
	words map[uint16][]word
}

type word struct {
	text []byte
	sets uint64
}

// newWordSearch makes a search for at most 64 sets. Words are in lower case.
func newWordSearch(sets [][]string) *wordSearch {
	s := &wordSearch{words: map[uint16][]word{}}
	for i := range s.skip {
		s.skip[i] = wordBytes - blockBytes + 1
	}
	for set, words := range sets {
		for _, text := range words {
			for end := blockBytes; end <= wordBytes; end++ {
				block := blockOf(text[end-3], text[end-2], text[end-1])
				s.skip[block] = min(s.skip[block], uint8(wordBytes-end))
			}
			last := blockOf(text[wordBytes-3], text[wordBytes-2], text[wordBytes-1])
			s.words[last] = append(s.words[last], word{[]byte(text), 1 << set})
		}
	}
	return s
}

// blockOf hashes three bytes; upper and lower case are equal.
func blockOf(a, b, c byte) uint16 {
	return uint16(a&31)<<10 | uint16(b&31)<<5 | uint16(c&31)
}

// find returns the sets that have a word in the text, as bits.
func (s *wordSearch) find(text []byte) (sets uint64) {
	for end := wordBytes; end <= len(text); {
		block := blockOf(text[end-3], text[end-2], text[end-1])
		if n := int(s.skip[block]); n > 0 {
			end += n
			continue
		}
		rest := text[end-wordBytes:]
		for _, w := range s.words[block] {
			if len(rest) >= len(w.text) && bytes.EqualFold(rest[:len(w.text)], w.text) {
				sets |= w.sets
			}
		}
		end++
	}
	return sets
}
