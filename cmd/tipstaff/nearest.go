package main

import "strings"

// didYouMean is the end of a message about a word that is not known: the nearest
// of the words that are, or nothing if none is near.
func didYouMean(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// nearest returns the known word that takes the fewest slips of the keys to
// become another; "" if none takes few. Letter case is no slip.
func nearest(word string, known []string) string {
	best, least := "", max(1, len([]rune(word))/3)+1
	for _, k := range known {
		if d := slips(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" && len(word) >= 3 {
		for _, k := range known {
			if strings.HasPrefix(strings.ToLower(k), strings.ToLower(word)) {
				return k
			}
		}
	}
	return best
}

// slips counts letters that are too much, missing, wrong, or in the place of
// their neighbour (optimal string alignment).
func slips(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			wrong := 1
			if x[i-1] == y[j-1] {
				wrong = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+wrong)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
