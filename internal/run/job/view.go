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
	j.view.mu.Lock()
	defer j.view.mu.Unlock()
	if !j.view.lined {
		j.view.line, j.view.lined = cmdline.Escape(hide(j.line)), true
	}
	return j.view.line
}

const (
	// longestShown is how much of a line is shown, in characters.
	longestShown = 200
	// lookEvery is how long what was found out of a command is good for.
	lookEvery = time.Second
)

// LastViewed returns when the command was last looked at for its last line. To look at
// those first that were left out before gives each its turn.
func (j *Job) LastViewed() time.Time {
	j.view.mu.Lock()
	defer j.view.mu.Unlock()
	return j.view.taken
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
	j.view.mu.Lock()
	defer j.view.mu.Unlock()
	size, now := out.Size(), time.Now()
	if !fresh || now.Sub(j.view.taken) < lookEvery {
		return j.view.last
	}
	j.view.taken = now
	if size == j.view.printed {
		return j.view.last
	}
	j.view.printed = size
	if screen, has := j.Screen(); has {
		j.view.last = lastIn(hide(screen))
	} else if p, err := out.LastLine(); err == nil {
		cleaned, _ := clean.Clean(p)
		j.view.last = lastIn(cleaned)
	}
	return j.view.last
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
