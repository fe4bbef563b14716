// Package nearest finds the word that somebody probably meant who typed another one.
package nearest

import (
	"slices"
	"strings"
)

// longest bounds the words that are compared, in bytes: the work grows with the square,
// and a word may come from a caller.
const longest = 64

// short is how long a word is, in characters, in which another letter makes another word:
// rg is no slip of rm. A letter too many, too few or swapped may be one.
const short = 3

// To returns the name that word was probably meant to be, "" if there is none. That is
// the name at the smallest [Distance], at most a third of the word's length, and of
// several the first. Letter case and blanks around the word do not count. A word is
// never proposed for itself.
func To(word string, names []string) string {
	return ToFunc(word, names, func(string) bool { return true })
}

// ToFunc is [To] among the names that are usable. It asks only about names that are near
// enough.
func ToFunc(word string, names []string, usable func(string) bool) string {
	typed := strings.ToLower(strings.TrimSpace(word))
	if typed == "" || len(typed) > longest {
		return ""
	}
	best, least := "", max(1, len([]rune(typed))/3)+1
	for _, name := range names {
		if len(name) > longest || name == word {
			continue
		}
		n := Distance(typed, strings.ToLower(name))
		if n < least && (len([]rune(typed)) > short || len(name) != len(typed) || sameLetters(typed, strings.ToLower(name))) && usable(name) {
			best, least = name, n
		}
	}
	return best
}

// sameLetters reports whether two words differ only in the order of their letters.
func sameLetters(a, b string) bool {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// Distance counts the characters that are inserted, deleted, replaced or swapped with a
// neighbour to turn a into b: optimal string alignment. Its time grows with the product
// of both lengths.
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		now[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			now[j+1] = min(last[j]+cost, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(y)]
}
