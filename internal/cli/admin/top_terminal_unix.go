//go:build linux || darwin

package admin

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// errNoKeys: what is read is no terminal, so no key can be pressed.
var errNoKeys = errors.New("no keys can be pressed here")

// terminal is the person's own terminal, which gives each key at once and shows
// nothing of it. It is given back with close.
type terminal struct {
	in, out *os.File
	before  *unix.Termios
}

// openTerminal takes a terminal over, and shows a screen of its own there.
func openTerminal(in, out *os.File) (*terminal, error) {
	before, err := unix.IoctlGetTermios(int(in.Fd()), getTermios)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoKeys, err)
	}
	now := *before
	now.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN // signals stay: ctrl-c quits
	now.Iflag &^= unix.IXON | unix.ICRNL
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(in.Fd()), setTermios, &now); err != nil {
		return nil, err
	}
	t := &terminal{in, out, before}
	_, err = out.WriteString("\x1b[?1049h\x1b[?25l\x1b[?7l")
	return t, err
}

func (t *terminal) close() error {
	_, err := t.out.WriteString("\x1b[?7h\x1b[?25h\x1b[?1049l")
	return errors.Join(err, unix.IoctlSetTermios(int(t.in.Fd()), setTermios, t.before))
}

// size returns the size of the terminal.
func (t *terminal) size() (rows, columns int) {
	size, err := unix.IoctlGetWinsize(int(t.out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Row == 0 || size.Col == 0 {
		return 24, 80
	}
	return int(size.Row), int(size.Col)
}

// ready waits for a key for at most so many milliseconds.
func (t *terminal) ready(milliseconds int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(t.in.Fd()), Events: unix.POLLIN}}, milliseconds) // a descriptor fits
	return err == nil && n > 0
}
