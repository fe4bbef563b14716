package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxNamed is how many allowed names a refusal lists before it counts the rest.
const maxNamed = 20

// explainList says what is allowed instead of word, and what to do.
func explainList(word, by string, l *Allowlist) string {
	var say []string
	if by != "" {
		say = append(say, by+" would start it, so it must be allowed as well.")
	}
	say = append(say, namesAllowed(l))
	if near, ok := nearest(word, l.Names, nil); ok {
		say = append(say, "Did you mean "+quoted(near)+"?")
	} else if first, rest, ok := strings.Cut(strings.TrimSpace(word), " "); ok && rest != "" && l.lists(first) {
		say = append(say, "The command is one word; its arguments are given apart from it.")
	} else if base := path.Base(word); base != word && l.lists(base) {
		say = append(say, "Call it by its name, "+quoted(base)+"; a path is allowed only if it leads to the same file.")
	}
	return strings.Join(say, " ")
}

// namesAllowed lists the allowed names for a refusal, the first ones of a long
// list.
func namesAllowed(l *Allowlist) string {
	switch {
	case l.Any:
		return "Every program is allowed, but it needs a name."
	case len(l.Names) == 0:
		return "Nothing is allowed: " + l.Source + " lists no program."
	}
	names := make([]string, 0, maxNamed)
	for _, name := range l.Names[:min(len(l.Names), maxNamed)] {
		names = append(names, shown(name))
	}
	text := "Allowed: " + strings.Join(names, ", ")
	if more := len(l.Names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "."
}

// listNames returns the names for a program to read; never null in JSON.
func listNames(l *Allowlist) []string {
	if l.Fault != "" {
		return []string{}
	}
	return append([]string{}, l.Names...)
}

// Nearest returns the one of several names that word was probably meant to be,
// if there is one.
func Nearest(word string, names []string) (string, bool) { return nearest(word, names, nil) }

// nearest finds the name that word was probably meant to be: the one at the
// smallest distance, at most a third of its length, the first on the list of
// several. Case and surrounding blanks are ignored.
func nearest(word string, names []string, usable func(string) bool) (string, bool) {
	const longest = 64 // the work grows with the square
	typed := strings.ToLower(strings.TrimSpace(word))
	if typed == "" || len(typed) > longest {
		return "", false
	}
	best, found := "", false
	least := max(1, len(typed)/3) + 1
	for _, name := range names {
		if len(name) > longest || name == word {
			continue
		}
		if n := distance(typed, strings.ToLower(name)); n < least && (usable == nil || usable(name)) {
			best, least, found = name, n, true
		}
	}
	return best, found
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
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
			now[j+1] = slices.Min([]int{last[j] + cost, last[j+1] + 1, now[j] + 1})
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(y)]
}
