package language_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/policy/language"
)

// TestASummaryIsForItsCaller: what a profile leaves comes before the rules that
// it narrows.
func TestASummaryIsForItsCaller(t *testing.T) {
	const file = `version: 1
commands:
  ls: {allow: ["*"]}
  git: {allow: [status], ask: [push], deny: [push --force]}
profiles:
  review: {match: {principal: "token:review-*"}, only: [ls, git status], deny: [git push]}
  slow: {match: {client: "old/*"}, limits: {timeout: 5s}}
`
	p, err := language.Load([]byte(file), "p.yaml", language.Options{Split: func(s string) ([]string, error) { return strings.Fields(s), nil }, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	rest := []string{"ls: any arguments", "git: status; with approval: push; never: push --force"}
	for _, c := range []struct {
		who  language.Who
		want []string
	}{
		{language.Who{}, rest},
		{language.Who{Principal: "token:other"}, rest},
		{language.Who{Principal: "token:review-1"}, append([]string{"for you, of all that follows: only ls, git status; never git push"}, rest...)},
		{language.Who{Client: "old/1"}, append([]string{"for you, of all that follows: tighter limits"}, rest...)},
	} {
		if got := p.Summary(c.who); !slices.Equal(got, c.want) {
			t.Errorf("%+v hears:\n%s", c.who, strings.Join(got, "\n"))
		}
	}
}
