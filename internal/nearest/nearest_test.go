package nearest

import (
	"strings"
	"testing"
)

func TestDistanceCountsSlipsOfTheKeys(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "git", 3},
		{"git", "", 3},
		{"git", "git", 0},
		{"git", "gti", 1}, // swapped
		{"git", "gitt", 1},
		{"git", "gt", 1},
		{"git", "got", 1},
		{"ca", "abc", 3}, // no character is moved twice
		{"größe", "grösse", 2},
		{"größe", "grüße", 1}, // characters, not bytes
		{"kitten", "sitting", 3},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Distance(c.b, c.a); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestANameIsProposedIfAThirdOfTheWordDiffers(t *testing.T) {
	names := []string{"serve", "policy", "audit", "call", "cat", "Git"}
	for word, want := range map[string]string{
		"srve":      "serve",
		"polcy":     "policy",
		"AUDTI":     "audit", // letter case does not count
		" git ":     "Git",   // nor do blanks around a word
		"gti":       "Git",
		"cal":       "call", // of several the first
		"":          "",
		"   ":       "",
		"q":         "",
		"rewrite":   "",
		"serve":     "", // never the word itself
		"Git":       "",
		"xxaudit":   "audit",
		"xxxaudit":  "",
		"auditxxxx": "",
		"cut":       "", // another word
		"act":       "cat",
	} {
		if got := To(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestAWordThatIsTooLongIsNotCompared(t *testing.T) {
	long := strings.Repeat("a", 64)
	if got := To(long+"a", []string{long}); got != "" {
		t.Error("compared a long word:", got)
	}
	if got := To(long, []string{long + "a"}); got != "" {
		t.Error("compared a long name:", got)
	}
	if got := To(long[1:], []string{long}); got != long {
		t.Error("did not compare words of 64 bytes:", got)
	}
}

func TestOnlyNamesThatAreNearEnoughAreAskedAbout(t *testing.T) {
	var asked []string
	got := ToFunc("cta", []string{"python", "cat", "cut"}, func(name string) bool {
		asked = append(asked, name)
		return name != "cat"
	})
	// "cut" is two slips away, which is too much for three letters.
	if got != "" || strings.Join(asked, " ") != "cat" {
		t.Errorf("%q, asked %q", got, asked)
	}
}
