package job

import (
	"strings"
	"sync"
	"time"

	"tipstaff/internal/argv"
	"tipstaff/internal/spool"
	"tipstaff/internal/text"
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
		j.shown.line, j.shown.lined = argv.Escape(hide(j.line)), true
	}
	return j.shown.line
}

const (
	// lastWindow is how much of an output is looked at for its last line, longestShown
	// how much of the line is shown, in characters.
	lastWindow   = 1 << 10
	longestShown = 200
	// lookEvery is how old a last line may be.
	lookEvery = time.Second
)

// LastLine returns the last line that the command has printed and that is not blank,
// as it was at most a second ago: printable, cut, without secrets. hide hides those on
// a terminal.
func (j *Job) LastLine(hide func(string) string) string {
	out, kept := j.Output()
	if !kept {
		return ""
	}
	j.shown.mu.Lock()
	defer j.shown.mu.Unlock()
	size, now := out.Size(), time.Now()
	if size == j.shown.printed || now.Sub(j.shown.taken) < lookEvery {
		return j.shown.last
	}
	j.shown.printed, j.shown.taken = size, now
	if screen, has := j.Screen(); has {
		j.shown.last = lastIn(hide(screen))
		return j.shown.last
	}
	p, err := out.Read(size-lastWindow, lastWindow, spool.Both)
	if err == nil {
		clean, _ := text.Clean(p.Text)
		j.shown.last = lastIn(clean)
	}
	return j.shown.last
}

// lastIn returns the last line of clean text that is not blank.
func lastIn(clean string) string {
	lines := strings.Split(strings.TrimRight(clean, " \t\n"), "\n")
	line := argv.Escape(strings.TrimSpace(lines[len(lines)-1]))
	if r := []rune(line); len(r) > longestShown {
		line = string(r[:longestShown]) + "…"
	}
	return line
}
