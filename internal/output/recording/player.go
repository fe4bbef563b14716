package recording

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"tipstaff/internal/output/terminal"
)

// Player plays a recording on a terminal.
type Player struct {
	Out   io.Writer
	Speed float64       // 1, or 0, is the original speed
	Idle  time.Duration // the longest pause; 0: as recorded
	// Of a command with a terminal the screen is shown, as text in place, unless
	// Raw is set.
	//
	// Raw passes everything through that the command printed. Without it, only
	// colours are passed through, and other control characters are shown as
	// text: the author of the output may have aimed them at the person who
	// plays the recording.
	Raw bool
}

// File returns the path of a command's recording below a trail.
func File(trail, command string) string {
	return filepath.Join(trail, Directory, filepath.Base(command)+extension)
}

// Directory is the directory of a trail's recordings.
const Directory = "recordings"

// Sum returns what a record contains of a recording: its SHA-256 in
// hexadecimal.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Play plays a recording until its end, or until ctx is done; name is for people.
func (p Player) Play(ctx context.Context, name string, data []byte) error {
	c, err := read(data)
	if err != nil {
		return fmt.Errorf("cannot play %s: %w", name, err)
	}
	if c.size != nil && !p.Raw {
		return p.playScreen(ctx, c)
	}
	var at time.Duration
	for _, e := range c.events {
		if err := p.pause(ctx, e.after-at); err != nil {
			return err
		}
		at = e.after
		text := e.text
		if !p.Raw {
			text = harmless(text)
		}
		if _, err := io.WriteString(p.Out, text); err != nil {
			return fmt.Errorf("cannot play: %w", err)
		}
	}
	return nil
}

// playScreen plays what a terminal showed: at each moment the whole screen.
func (p Player) playScreen(ctx context.Context, c cast) error {
	s := terminal.New(*c.size)
	var at time.Duration
	for i, e := range c.events {
		if err := p.pause(ctx, e.after-at); err != nil {
			return err
		}
		at = e.after
		if e.size != nil {
			s.Resize(*e.size)
		} else {
			_, _ = s.Write([]byte(e.text))
		}
		if i+1 < len(c.events) && c.events[i+1].after-at < leastFrame {
			continue // it would not be seen
		}
		row, column, _ := s.Cursor()
		shown := strings.ReplaceAll(harmless(s.Text()), "\n", "\x1b[K\r\n")
		if _, err := fmt.Fprintf(p.Out, "\x1b[H%s\x1b[J\x1b[%d;%dH", shown, row+1, column+1); err != nil {
			return fmt.Errorf("cannot play: %w", err)
		}
	}
	_, err := fmt.Fprintf(p.Out, "\x1b[%d;1H\r\n", s.Size().Rows)
	return err
}

// leastFrame is how long a screen is shown at least.
const leastFrame = 10 * time.Millisecond

func (p Player) pause(ctx context.Context, d time.Duration) error {
	if p.Speed > 0 {
		d = time.Duration(float64(d) / p.Speed)
	}
	if p.Idle > 0 {
		d = min(d, p.Idle)
	}
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// harmless makes control characters visible, except line ends, tabs and colours
// (SGR: ESC [ … m).
func harmless(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n', r == '\t', unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			b.WriteRune(r)
		case r == '\x1b' && colour(text[i+1:]):
			b.WriteRune(r)
		case r < ' ':
			b.WriteByte('^')
			b.WriteByte(byte(r) + '@')
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// colour reports whether the text after an escape only changes how letters
// look.
func colour(rest string) bool {
	rest, ok := strings.CutPrefix(rest, "[")
	if !ok {
		return false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' })
	return end >= 0 && rest[end] == 'm'
}
