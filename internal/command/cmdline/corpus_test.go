package cmdline_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tipstaff/internal/command/cmdline"
)

// tokenCase is a line of testdata/token-cases.jsonl: either the words that a
// command splits into, or the kind of the refusal.
type tokenCase struct {
	ID, Why, Command string
	Words            []string
	Refused          cmdline.Kind
}

func tokenCases(t testing.TB) []tokenCase {
	t.Helper()
	data, err := os.ReadFile("testdata/token-cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var cases []tokenCase
	for line := range strings.Lines(string(data)) {
		var c tokenCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		cases = append(cases, c)
	}
	return cases
}

func TestReadAgreesWithTheCorpus(t *testing.T) {
	for _, c := range tokenCases(t) {
		t.Run(c.ID+" "+c.Why, func(t *testing.T) {
			got, err := cmdline.Read(c.Command)
			if diff := cmp.Diff(c.Words, got.Words); diff != "" {
				t.Errorf("words (-want +got):\n%s", diff)
			}
			var syntax *cmdline.SyntaxError
			if c.Refused != "" && (!errors.As(err, &syntax) || syntax.Kind != c.Refused) {
				t.Errorf("refused with %v, want %s", err, c.Refused)
			}
		})
	}
}
