package gitconfig

import (
	"fmt"
	"strconv"
	"strings"
)

// Finding is one change that a command may not make. It is written for the
// command's author and for a person.
type Finding struct {
	Key     string // of the entry, shortened, and quoted unless it is a plain word; "" for a whole text
	What    string // what may not be done with it
	Why     string // what git would do
	Instead string // who can do it, and how; may be ""
}

// String returns the finding as a sentence for people.
func (f Finding) String() string {
	var b strings.Builder
	if f.Key != "" {
		b.WriteString(f.Key + " ")
	}
	b.WriteString(f.What + ": " + f.Why)
	if f.Instead != "" {
		b.WriteString("; " + f.Instead)
	}
	return b.String()
}

// Refusal is the error of Judge: all findings against a text.
type Refusal struct {
	Findings []Finding // at least one, at most maxFindings
	More     int       // number of findings that are not listed
}

// Error describes the first findings.
func (r *Refusal) Error() string {
	const most = 3
	var parts []string
	for _, f := range r.Findings[:min(most, len(r.Findings))] {
		parts = append(parts, f.String())
	}
	if more := len(r.Findings) + r.More - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ". ")
}

// maxFindings bounds the message that a hostile text can cause.
const maxFindings = 100

// findings collects findings up to maxFindings.
type findings struct {
	list []Finding
	more int
}

// add records a finding, or counts it if the list is full.
func (fs *findings) add(finding func() Finding) {
	if len(fs.list) >= maxFindings {
		fs.more++
		return
	}
	fs.list = append(fs.list, finding())
}

// refusal returns nil if there are no findings.
func (fs *findings) refusal() error {
	if len(fs.list) == 0 {
		return nil
	}
	return &Refusal{fs.list, fs.more}
}

// all returns the list; its last row says what is left out.
func (fs *findings) all() []Finding {
	if fs.more == 0 {
		return fs.list
	}
	return append(fs.list, Finding{What: fmt.Sprintf("and %d more", fs.more), Why: "only the first are listed"})
}

// shown makes a command's word safe to show in a message.
func shown(word string) string {
	const most = 120
	if len(word) > most {
		word = word[:most] + "…"
	}
	plain := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"'`$\\;&|<>()*?!#~", c) }
	if word == "" || strings.ContainsFunc(word, plain) {
		return strconv.QuoteToASCII(word)
	}
	return word
}

// ask names the command that a person would run.
func ask(format string, a ...any) string {
	return "ask a person to run: " + fmt.Sprintf(format, a...)
}
