package query

import (
	"fmt"
	"strings"
	"time"
)

// Asked is a filter as a person writes it: in flags, or in the fields of a form.
// An empty text matches everything.
type Asked struct {
	Agent, Task, Session, Principal, Command string

	Event, Cmd   string // for [ParseWord]
	Code         string // in letters of any size
	Exit         string // for [ParseExit]
	Since, Until string // for [ParseTime]
	Denied       bool
}

// FieldError says what is wrong with one field of [Asked]. Field is its name in
// small letters.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// Filter returns the filter that a means. Its errors are of type [FieldError].
func (a *Asked) Filter(now time.Time) (*Filter, error) {
	out := &Filter{
		Agent: a.Agent, Task: a.Task, Session: a.Session, Command: a.Command, Principal: a.Principal,
		Code: strings.ToUpper(a.Code), Denied: a.Denied,
	}
	for _, field := range []struct {
		name, text string
		parse      func(text string) error
	}{
		{"event", a.Event, func(s string) (err error) { out.Event, err = ParseWord(s); return err }},
		{"cmd", a.Cmd, func(s string) (err error) { out.Cmd, err = ParseWord(s); return err }},
		{"exit", a.Exit, func(s string) (err error) { out.Exit, err = ParseExit(s); return err }},
		{"since", a.Since, func(s string) (err error) { out.Since, err = ParseTime(s, now); return err }},
		{"until", a.Until, func(s string) (err error) { out.Until, err = ParseTime(s, now); return err }},
	} {
		if field.text == "" {
			continue
		}
		if err := field.parse(field.text); err != nil {
			return nil, &FieldError{field.name, err}
		}
	}
	if !out.Since.IsZero() && !out.Until.IsZero() && !out.Since.Before(out.Until) {
		return nil, &FieldError{"until", fmt.Errorf("%s is not after the beginning (%s): nothing lies between them",
			out.Until.UTC().Format(time.RFC3339), out.Since.UTC().Format(time.RFC3339))}
	}
	return out, nil
}
