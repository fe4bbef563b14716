package nearest

import "strings"

// DidYouMean is the end of a message about a word that is not known: the nearest
// of the words that are, or nothing if none is near.
func DidYouMean(word string, known []string) string {
	if n := ToOrPrefix(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// ToOrPrefix returns the known word that was probably meant, else one that begins with
// the word; "" if there is neither.
func ToOrPrefix(word string, known []string) string {
	best := To(word, known)
	if best == "" && len(word) >= 3 {
		for _, k := range known {
			if strings.HasPrefix(strings.ToLower(k), strings.ToLower(word)) {
				return k
			}
		}
	}
	return best
}
