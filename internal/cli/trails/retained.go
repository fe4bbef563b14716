package trails

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/tty"
)

// retainedLine describes for a person a sound trail of which something was archived or
// retired; s is the last statement.
func retainedLine(t audit.TrailReport, s audit.RetentionNote) string {
	mark := "ok"
	if s.Act == audit.Retired && s.Whole() {
		mark = "retired"
	}
	var line strings.Builder
	line.WriteString(fmt.Sprintf("%-10s  %s  %d records", mark, t.Path, t.Records))
	if !t.Last.IsZero() {
		line.WriteString(fmt.Sprintf(", %s to %s", t.First.Format(time.RFC3339), t.Last.Format(time.RFC3339)))
	}
	line.WriteString(", " + signature(t))
	for _, s := range t.Statements() {
		line.WriteString("\n            " + stated(s))
	}
	return line.String()
}

// stated says in words what a statement says.
func stated(s audit.RetentionNote) string {
	by := fmt.Sprintf("%s by %s, on %s", s.Act, cmdline.Escape(s.By), s.Time.UTC().Format(time.RFC3339))
	var what string
	switch {
	case s.Through > 0:
		what = fmt.Sprintf(", up to record %d, root %s", s.Through, base64.StdEncoding.EncodeToString(s.Root[:]))
	case s.Whole():
		what = ", without a record"
	default:
		what = ", " + tty.Plural(int64(len(s.Files)), "recording", "recordings")
	}
	if s.To != "" {
		what += ", to " + cmdline.Escape(s.To)
	}
	return by + what
}

// Became is a statement in the output of --json.
type Became struct {
	Act     audit.Act `json:"act"`
	By      string    `json:"by"`
	Time    time.Time `json:"time"`
	To      string    `json:"to,omitempty"`
	From    uint64    `json:"from,omitempty"`
	Through uint64    `json:"through,omitempty"`
	Root    string    `json:"root,omitempty"`
	End     string    `json:"end,omitempty"`
	Files   []string  `json:"files"`
}

// BecameOf returns what a signed statement says of retired files, for programs.
func BecameOf(s audit.RetentionNote) Became {
	m := Became{Act: s.Act, By: s.By, Time: s.Time, To: s.To, From: s.From, Through: s.Through, End: s.End, Files: []string{}}
	if s.From > 0 {
		m.Root = base64.StdEncoding.EncodeToString(s.Root[:])
	}
	for _, list := range [][]audit.StatedFile{s.Segments, s.Files} {
		for _, f := range list {
			m.Files = append(m.Files, strings.ToValidUTF8(f.Name, "?"))
		}
	}
	return m
}
