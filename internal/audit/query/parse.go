package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseTime parses a time: RFC 3339, or a duration before now, such as 90s, 2h,
// 1h30m, 7d or 2w. A day has 24 hours.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	ago, ok := parseAgo(text)
	if !ok {
		return time.Time{}, fmt.Errorf("%q is no time: write it as RFC 3339 (%s), or how long ago as 30m, 2h, 7d or 2w",
			text, now.UTC().Truncate(time.Second).Format(time.RFC3339))
	}
	return now.Add(-ago), nil
}

func parseAgo(text string) (time.Duration, bool) {
	var days time.Duration
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		number, rest, found := strings.Cut(text, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return 0, false
		}
		days += time.Duration(n) * unit.length
		if text = rest; text == "" {
			return days, days < 200*365*24*time.Hour
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || strings.HasPrefix(text, "+") {
		return 0, false
	}
	return days + d, days < 200*365*24*time.Hour
}

// ParseWord parses a name; if it ends with *, it stands for all names with that
// beginning.
func ParseWord(text string) (Word, error) {
	word, prefix := strings.CutSuffix(text, "*")
	switch {
	case text == "":
		return Word{}, fmt.Errorf("the word is empty: give one, or the beginning of one and *, as git or npm*")
	case word == "":
		return Word{}, fmt.Errorf("%q would match every word: leave it out, or write the beginning before the *, as npm*", text)
	}
	return Word{Text: word, Prefix: prefix}, nil
}

// ParseExit parses an exit code, such as 0 or 137, or !=0 for all others.
func ParseExit(text string) (*Exit, error) {
	number, not := strings.CutPrefix(text, "!=")
	code, err := strconv.Atoi(number)
	if err != nil || code < 0 || number[0] == '+' {
		return nil, fmt.Errorf("%q is no exit code: write a number, as 0 or 137, or '!=0' for every command that failed", text)
	}
	return &Exit{Code: code, Not: not}, nil
}
