package job

import (
	"strings"
	"sync"
	"time"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/output/clean"
)

// view is what people are shown of a command that costs something to make: it is made
// once, or at most every second.
type view struct {
	mu    sync.Mutex
	line  string
	lined bool

	last    string
	printed int64
	taken   time.Time
}

// ShownLine returns the command line, as hide shows it, as one printable line.
func (j *Job) ShownLine(hide func(string) string) string {
	j.shown.mu.Lock()
	defer j.shown.mu.Unlock()
	if !j.shown.lined {
		j.shown.line, j.shown.lined = cmdline.Escape(hide(j.line)), true
	}
	return j.shown.line
}

const (
	// longestShown is how much of a line is shown, in characters.
	longestShown = 200
	// lookEvery is how long what was found out of a command is good for.
	lookEvery = time.Second
)

// Looked returns when the command was last looked at for its last line. To look at
// those first that were left out before gives each its turn.
func (j *Job) Looked() time.Time {
	j.shown.mu.Lock()
	defer j.shown.mu.Unlock()
	return j.shown.taken
}

// LastLine returns the last line that the command has printed and that is not blank:
// printable, cut, without secrets. With fresh it is as it was at most a second ago,
// which costs a tenth of a millisecond; else what was found last. hide hides secrets
// on a terminal.
func (j *Job) LastLine(hide func(string) string, fresh bool) string {
	out, kept := j.Output()
	if !kept {
		return ""
	}
	j.shown.mu.Lock()
	defer j.shown.mu.Unlock()
	size, now := out.Size(), time.Now()
	if !fresh || now.Sub(j.shown.taken) < lookEvery {
		return j.shown.last
	}
	j.shown.taken = now
	if size == j.shown.printed {
		return j.shown.last
	}
	j.shown.printed = size
	if screen, has := j.Screen(); has {
		j.shown.last = lastIn(hide(screen))
	} else if p, err := out.LastLine(); err == nil {
		cleaned, _ := clean.Clean(p)
		j.shown.last = lastIn(cleaned)
	}
	return j.shown.last
}

// lastIn returns the last line of clean text that is not blank.
func lastIn(clean string) string {
	lines := strings.Split(strings.TrimRight(clean, " \t\n"), "\n")
	line := cmdline.Escape(strings.TrimSpace(lines[len(lines)-1]))
	if r := []rune(line); len(r) > longestShown {
		line = string(r[:longestShown]) + "…"
	}
	return line
}
