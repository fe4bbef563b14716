package query

import (
	"testing"
	"time"
)

func TestTimesAreMomentsOrHowLongAgo(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-03-01T00:00:00Z":         time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"2026-03-01T02:00:00.5+02:00":  time.Date(2026, 3, 1, 0, 0, 0, 5e8, time.UTC),
		"90s":                          now.Add(-90 * time.Second),
		"1h30m":                        now.Add(-90 * time.Minute),
		"7d":                           now.AddDate(0, 0, -7),
		"2w":                           now.AddDate(0, 0, -14),
		"1w2d3h":                       now.AddDate(0, 0, -9).Add(-3 * time.Hour),
		"0s":                           now,
		"2026-03-01T00:00:00.1234567Z": time.Date(2026, 3, 1, 0, 0, 0, 123456700, time.UTC),
	} {
		if got, err := ParseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "5", "-2h", "+2h", "d", "1.5d", "-1d", "2d1w", "2026-03-01", "99999999d", "1d-3h"} {
		if got, err := ParseTime(text, now); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestExitCodesAreNumbersOrAllOthers(t *testing.T) {
	for text, want := range map[string]Exit{"0": {}, "137": {Code: 137}, "!=0": {Not: true}, "!=2": {Code: 2, Not: true}} {
		if got, err := ParseExit(text); err != nil || *got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "!=", "zero", "-1", "+1", ">0", "!0", "1.5"} {
		if got, err := ParseExit(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestWordsAreExactOrABeginning(t *testing.T) {
	for text, want := range map[string]Word{"git": {Text: "git"}, "npm*": {Text: "npm", Prefix: true}, "a*b": {Text: "a*b"}, "**": {Text: "*", Prefix: true}} {
		if got, err := ParseWord(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "*"} {
		if got, err := ParseWord(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}
