//go:build linux

package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tipstaff/internal/script/ipc"
)

// fake is a script process that does what its script says, one step a line, right or
// wrong. Before it gets one it does what early says.
func fake(early string) error {
	conn, err := ipc.New(3)
	if err != nil {
		return err
	}
	f := &faker{conn: conn, streams: []*os.File{os.Stdin, os.Stdout, os.Stderr}}
	switch early {
	case "asks":
		return f.ask(1, 0, []string{"touch", "early"})
	case "dies":
		return nil
	}
	if err := conn.Send(ipc.Message{Kind: ipc.Ready}); err != nil {
		return err
	}
	m, files, err := conn.Receive()
	if errors.Is(err, io.EOF) {
		return nil // the session sandbox has ended
	}
	if err != nil {
		return err
	}
	f.script, f.streams = m, files
	for line := range strings.Lines(m.Text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := f.step(words[0], words[1:]); err != nil {
			return err
		}
	}
	return nil
}

type faker struct {
	conn    *ipc.Conn
	script  ipc.Message
	streams []*os.File
	env     []string
}

// step carries out one line of a script.
func (f *faker) step(name string, words []string) error {
	number := func(i int) int {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	switch name {
	case "ask": // NUMBER WORD…
		return f.ask(uint64(number(0)), 0, words[1:])
	case "started": // NUMBER WORD…: Started is wanted
		return f.send(ipc.Message{Kind: ipc.Ask, ID: uint64(number(0)), Words: words[1:], WantNumber: true}, 0)
	case "more": // NUMBER COUNT WORD…: with so many further descriptors
		return f.ask(uint64(number(0)), number(1), words[2:])
	case "few": // NUMBER WORD…: without descriptors
		return f.conn.Send(ipc.Message{Kind: ipc.Ask, ID: uint64(number(0)), Words: words[1:]})
	case "env":
		f.env = words
	case "cd":
		return os.Chdir(strings.ReplaceAll(words[0], "$TMPDIR", f.variable("TMPDIR")))
	case "mkdir":
		return os.Mkdir(strings.ReplaceAll(words[0], "$TMPDIR", f.variable("TMPDIR")), 0o700)
	case "to": // FILE: the outputs of what follows go there
		out, err := os.Create(words[0])
		f.streams[1] = out
		return err
	case "pipeline": // COUNT: so many cats behind each other and one command more, and how many were refused
		return f.pipeline(number(0))
	case "answer": // prints the next message
		m, _, err := f.conn.Receive()
		if err == nil {
			_, err = fmt.Fprintf(f.streams[1], "%d: %d %d %d %t %s\n", m.Kind, m.ID, m.Code, m.Number, m.Refused, m.Text)
		}
		return err
	case "say":
		_, err := fmt.Fprintln(f.streams[1], strings.Join(words, " "))
		return err
	case "told": // what came with the script
		_, err := fmt.Fprintln(f.streams[1], f.script.Directory, f.script.State, f.script.Write, f.variable("X"))
		return err
	case "signal": // NUMBER SIGNAL
		return f.conn.Send(ipc.Message{Kind: ipc.Signal, ID: uint64(number(0)), Number: number(1)})
	case "garbage":
		_, err := os.NewFile(3, "socket").Write([]byte{5, 0, 0, 0, 77, 1, 2, 3, 4})
		return err
	case "ready":
		return f.conn.Send(ipc.Message{Kind: ipc.Ready})
	case "end": // CODE DIRECTORY STATE
		return f.conn.Send(ipc.Message{Kind: ipc.Done, Code: number(0), Directory: words[1], State: strings.Repeat(words[2], max(1, number(3)))})
	case "kill":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang":
		select {}
	default:
		return fmt.Errorf("no step %q", name)
	}
	return nil
}

func (f *faker) variable(name string) string {
	for _, v := range f.script.Environment {
		if value, is := strings.CutPrefix(v, name+"="); is {
			return value
		}
	}
	return ""
}

// ask asks for a command with so many descriptors more than it needs.
func (f *faker) ask(id uint64, more int, words []string) error {
	return f.send(ipc.Message{Kind: ipc.Ask, ID: id, Words: words, Environment: f.env, Line: int(id)}, more)
}

func (f *faker) send(m ipc.Message, more int) error {
	dir, err := unix.Open(".", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	fds := []int{dir, int(f.streams[0].Fd()), int(f.streams[1].Fd()), int(f.streams[2].Fd())}
	for range more {
		fds = append(fds, dir)
	}
	return f.conn.Send(m, fds...)
}

func (f *faker) pipeline(n int) error {
	in, feed, err := os.Pipe() // open until all have been asked for
	if err != nil {
		return err
	}
	last := f.streams[1]
	for i := range n {
		out := last
		var next *os.File
		if i < n-1 {
			if next, out, err = os.Pipe(); err != nil {
				return err
			}
		}
		f.streams[0], f.streams[1] = in, out
		if err := f.ask(uint64(i+1), 0, []string{"cat"}); err != nil {
			return err
		}
		_ = in.Close()
		if i < n-1 {
			_ = out.Close()
		}
		in = next
	}
	f.streams[1] = last
	f.streams[0] = os.Stdin
	if err := f.ask(uint64(n+1), 0, []string{"true"}); err != nil { // one more
		return err
	}
	refused := 0
	for range n + 1 {
		m, _, err := f.conn.Receive()
		if err != nil {
			return err
		}
		if m.Refused {
			refused++
		}
		if m.ID == uint64(n+1) { // the server has taken all
			_ = feed.Close()
		}
	}
	_, err = fmt.Fprintln(last, "refused", refused)
	return err
}
