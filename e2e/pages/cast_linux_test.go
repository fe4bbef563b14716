//go:build !race

package pages

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"tipstaff/e2e/kit"
)

var update = flag.Bool("update", false, "write docs/first-two-minutes.cast anew (make cast)")

// The recording is of a terminal of this size, in asciicast v2.
const columns, lines = 100, 30

// scene is a command of the recording.
type scene struct {
	types  string
	answer string // what is typed when it asks, a word for each question
	code   int
	shows  string // a text that has to be on the screen
}

// scenes are the first two minutes of a person with tipstaff.
var scenes = []scene{
	{types: "cd ~/my-project && ls"},
	{types: "tipstaff init", answer: "y", shows: "tests passed"},
	{types: "tipstaff install --client claude-code", answer: "y 3", shows: "started as Claude Code will start it; its tools: execute_command, execute_process, execute_shell"},
	{types: `tipstaff call execute_command '{"command": "git log --oneline"}'`, shows: "exit_code: 0"},
	{types: `tipstaff call execute_command '{"command": "git push --force origin main"}'`, code: 1, shows: `"push --force" (args[0], args[1]) is denied`},
	{types: "tipstaff audit show -n 6", shows: "COMMAND_NOT_ALLOWED"},
}

// TestTheFirstTwoMinutes plays what the recording shows, in a terminal; with
// -update it becomes the recording. What init proposes hangs on the programs of
// the machine, so screens are not compared.
func TestTheFirstTwoMinutes(t *testing.T) {
	dir := shortHome(t)
	fill(t, dir)
	must(t, os.Mkdir(filepath.Join(dir, ".claude"), 0o700))
	var c cast
	for _, s := range scenes {
		says, code := inTerminal(t, dir, s)
		if code != s.code || !strings.Contains(says, s.shows) {
			t.Fatalf("%s ends with %d:\n%s", s.types, code, says)
		}
		c.add(s, says)
	}
	path := filepath.Join(top, "docs", "first-two-minutes.cast")
	if *update {
		must(t, os.WriteFile(path, c.text(dir, filepath.Dir(kit.Path(t))), 0o644))
	}
	readable(t, path)
}

// shortHome makes a home directory whose path is as long as /home/you, so that
// tables are as wide as with that.
func shortHome(t *testing.T) string {
	t.Helper()
	for i := range 1000 {
		dir := fmt.Sprintf("/tmp/y%03d", i)
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	t.Fatal("/tmp is full of such directories")
	return ""
}

// inTerminal runs a command with a terminal as its input and output, and types
// the answer when it asks.
func inTerminal(t *testing.T, dir string, s scene) (says string, code int) {
	t.Helper()
	master, slave := terminal(t)
	defer func() { _ = master.Close() }()
	size := [4]uint16{lines, columns}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, slave.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		t.Fatal(errno)
	}
	cmd := exec.Command("bash", "--norc", "-c", "cd ~/my-project; "+s.types)
	cmd.Env = append(environment(t, dir), "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, cmd.Start())
	must(t, slave.Close())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var screen bytes.Buffer
	part := make([]byte, 4096)
	for answers := strings.Fields(s.answer); ; {
		n, err := master.Read(part)
		screen.Write(part[:n])
		if len(answers) > 0 && (bytes.HasSuffix(screen.Bytes(), []byte("[y/N] ")) || bytes.HasSuffix(screen.Bytes(), []byte("leave it "))) {
			_, err := io.WriteString(master, answers[0]+"\n")
			answers = answers[1:]
			must(t, err)
		}
		if err != nil { // EIO: the terminal has no other end any more
			break
		}
	}
	_ = cmd.Wait()
	return screen.String(), cmd.ProcessState.ExitCode()
}

// cast is a recording: what comes on the screen, and when.
type cast struct {
	at     float64
	events []event
}

type event struct {
	at   float64
	text string
}

func (c *cast) show(after float64, text string) {
	c.at += after
	c.events = append(c.events, event{c.at, text})
}

// add types a command as a person does, and shows what it says.
func (c *cast) add(s scene, says string) {
	c.show(0.6, "\x1b[1m$\x1b[0m ")
	for _, letter := range s.types {
		c.show(0.05, string(letter))
	}
	c.show(0.4, "\r\n")
	if before, after, asked := strings.Cut(says, "[y/N] "); asked {
		// As fast as can be read: a line of the proposal after the other.
		for line := range strings.Lines(before) {
			c.show(0.12, line)
		}
		c.show(0, "[y/N] ")
		c.show(2, after)
	} else {
		c.show(0.3, says)
	}
	c.at += 2
}

// fixed are what differs from one recording to the next, and what stands in its
// place.
var fixed = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "2026-01-01 12:00:00"},
	{regexp.MustCompile(`\b\d\d-\d\d \d\d:\d\d:\d\d`), "01-01 12:00:00"},
	{regexp.MustCompile(`\d{8}T\d{6}Z-\d+-[0-9a-f]{8}`), "20260101T120000Z-4711-c0ffee00"},
	{regexp.MustCompile(`\b[0-9a-f]{7} hello`), "c0ffee0 hello"},
}

// lasted is how long a command took, in a column.
var lasted = regexp.MustCompile(`\b\d+ms *`)

// text is the file.
func (c *cast) text(home, bin string) []byte {
	var b bytes.Buffer
	header, _ := json.Marshal(map[string]any{"version": 2, "width": columns, "height": lines, "title": "tipstaff: the first two minutes", "env": map[string]string{"TERM": "xterm-256color", "SHELL": "/bin/bash"}})
	b.Write(append(header, '\n'))
	for _, e := range c.events {
		text := strings.NewReplacer(home, "/home/you", bin, "/home/you/.local/bin").Replace(e.text)
		for _, f := range fixed {
			text = f.form.ReplaceAllString(text, f.as)
		}
		text = lasted.ReplaceAllStringFunc(text, func(old string) string { return fmt.Sprintf("%-*s", len(old), "2ms") })
		var quoted bytes.Buffer
		enc := json.NewEncoder(&quoted)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(text)
		fmt.Fprintf(&b, "[%.2f, \"o\", %s]\n", e.at, strings.TrimSpace(quoted.String()))
	}
	return b.Bytes()
}

// readable holds the recording in the documentation to its form, and to the
// scenes: it takes two minutes at most, and everything that is typed is typed in
// it.
func readable(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer func() { _ = f.Close() }()
	scan := bufio.NewScanner(f)
	var header struct{ Version, Width, Height int }
	if !scan.Scan() || json.Unmarshal(scan.Bytes(), &header) != nil || header.Version != 2 || header.Width != columns || header.Height != lines {
		t.Fatalf("it does not begin as a recording does: %s", scan.Text())
	}
	last, screen := 0.0, ""
	for scan.Scan() {
		var e []any
		must(t, json.Unmarshal(scan.Bytes(), &e))
		at, ok1 := e[0].(float64)
		text, ok2 := e[2].(string)
		if !ok1 || !ok2 || e[1] != "o" || at < last {
			t.Fatalf("no event: %s", scan.Text())
		}
		last, screen = at, screen+text
	}
	must(t, scan.Err())
	if last > 120 {
		t.Errorf("it takes %v seconds", last)
	}
	for _, s := range scenes {
		_, rest, ok := strings.Cut(screen, "$\x1b[0m "+s.types+"\r\n")
		if !ok || !strings.Contains(rest, s.shows) {
			t.Errorf("%s does not show %s; make cast records it anew", path, s.types)
		}
		screen = rest
	}
	if strings.Contains(screen, "/tmp/") {
		t.Error("it shows a directory of a test")
	}
}
