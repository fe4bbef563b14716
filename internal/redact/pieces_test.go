package redact

import (
	"strings"
	"testing"
)

func TestASecretThatComesInPiecesIsHidden(t *testing.T) {
	r := New(map[string]string{"API_TOKEN": "SRVSECRET-1234"})
	for _, text := range []string{
		"before SRVSECRET-1234 after", "SRVSECRET-1234", "SRVSECRET-1234SRVSECRET-1234 x",
		"a\n--password=hunter2secret\nghp_" + strings.Repeat("b", 36) + " end", "nothing at all", "",
	} {
		want := r.Text(text)
		for size := 1; size <= len(text)+1; size++ {
			var pieces []string
			for rest := text; ; {
				n := min(size, len(rest))
				pieces = append(pieces, rest[:n])
				if rest = rest[n:]; rest == "" {
					break
				}
			}
			before := strings.Join(pieces, "|")
			got := r.Pieces(pieces)
			if strings.Join(got, "") != want || len(got) != len(pieces) {
				t.Fatalf("in pieces of %d: %q, want %q", size, got, want)
			}
			if strings.Join(pieces, "|") != before {
				t.Fatal("the pieces were changed")
			}
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("x --password=hunter2secret y", 3)
	f.Add("token: SRVSECRET-1234", 7)
	r := New(map[string]string{"API_TOKEN": "SRVSECRET-1234"})
	f.Fuzz(func(t *testing.T, text string, at int) {
		if at < 0 || at > len(text) {
			return
		}
		got := r.Pieces([]string{text[:at], text[at:]})
		if joined := strings.Join(got, ""); joined != r.Text(text) {
			t.Errorf("%q, and whole %q", got, r.Text(text))
		}
	})
}
