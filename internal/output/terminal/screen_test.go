package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func size(rows, columns uint16) tipstaff.TerminalSize {
	return tipstaff.TerminalSize{Rows: rows, Columns: columns}
}

// written is what programs write, and what a screen of 5 by 10 then shows.
var written = []struct{ says, text, want string }{
	{"text", "hello", "hello"},
	{"lines", "one\r\ntwo", "one\ntwo"},
	{"a line feed alone stays in the column", "one\ntwo", "one\n   two"},
	{"a progress bar", "10%\r50%\r100%", "100%"},
	{"a backspace", "abc\bx", "abx"},
	{"tabs", "a\tb", "a       b"},
	{"a long line goes on in the next", "0123456789abc", "0123456789\nabc"},
	{"a full line begins no new one yet", "0123456789\r\nx", "0123456789\nx"},
	{"no new line where it is switched off", "\x1b[?7l0123456789abc", "012345678c"},
	{"what is above is lost", "1\r\n2\r\n3\r\n4\r\n5\r\n6", "2\n3\n4\n5\n6"},
	{"colours", "\x1b[1;31mred\x1b[0m", "red"},
	{"a place", "\x1b[3;4Hx", "\n\n   x"},
	{"a place beyond the screen", "\x1b[99;99Hx", "\n\n\n\n         x"},
	{"moves", "\x1b[3;3H\x1b[Aa\x1b[2Db\x1b[Bc", "\n ba\n  c"},
	{"erased to the end of the line", "hello\x1b[3D\x1b[K", "he"},
	{"erased from the beginning", "hello\x1b[3D\x1b[1K", "   lo"},
	{"erased below", "1\r\n2\r\n3\x1b[2;1H\x1b[J", "1"},
	{"erased above", "1\r\n2\r\n3\x1b[2;1H\x1b[1J", "\n\n3"},
	{"erased whole", "hello\x1b[2Jx", "     x"},
	{"characters are inserted", "hello\r\x1b[2@", "  hello"},
	{"and deleted", "hello\r\x1b[2P", "llo"},
	{"and made blank", "hello\r\x1b[2X", "  llo"},
	{"in the mode that inserts", "hello\r\x1b[4hab", "abhello"},
	{"lines are inserted", "1\r\n2\r\n3\x1b[2;1H\x1b[L", "1\n\n2\n3"},
	{"and deleted", "1\r\n2\r\n3\x1b[2;1H\x1b[M", "1\n3"},
	{"a region scrolls", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx", "1\n3\nx\n4"},
	{"and back", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2;1H\x1bMx", "1\nx\n2\n4"},
	{"by sequences", "1\r\n2\r\n3\x1b[S", "2\n3"},
	{"and back by sequences", "1\r\n2\r\n3\x1b[T", "\n1\n2\n3"},
	{"places in a region", "\x1b[2;4r\x1b[?6h\x1b[1;1Hx\x1b[99;1Hy", "\nx\n\ny"},
	{"the cursor is kept", "a\x1b7\x1b[3;3Hb\x1b8c", "ac\n\n  b"},
	{"the alternate screen", "main\x1b[?1049h\x1b[Hother", "other"},
	{"and the main one after it", "main\x1b[?1049h\x1b[Hother\x1b[?1049l!", "main!"},
	{"a character is repeated", "a\x1b[3b", "aaaa"},
	{"lines are drawn", "\x1b(0lqk\x1b(Bq", "┌─┐q"},
	{"by the other set", "\x1b)0\x0elqk\x0fq", "┌─┐q"},
	{"wide characters", "世界x\x1b[1;3Hy", "世y x"},
	{"half of one is none", "世界\x1b[1;2Hy", " y界"},
	{"one does not fit at the end", "123456789世", "123456789\n世"},
	{"emoji", "🙂!\b\b\bx", "x !"},
	{"combining characters", "e\u0301!", "e\u0301!"},
	{"what is no UTF-8", "a\xff\xc3(b", "a��(b"},
	{"the title is not shown", "\x1b]0;title\x07text", "text"},
	{"nor a string that ends otherwise", "\x1bP1$r\x1b\\\x1b_x\x1b\\text", "text"},
	{"a string that another sequence ends", "\x1b]0;title\x1b[2;2Hx", "\n x"},
	{"a sequence that is broken off", "\x1b[12\x18ok", "ok"},
	{"one that is unknown", "\x1b[1;2$zok\x1b[>4;2mok\x1b%Gok", "okokok"},
	{"control characters in a sequence", "\x1b[3\r;4Hx", "\n\n   x"},
	{"tabs that are set", "\x1b[3g\x1b[1;4H\x1bH\r\tx", "   x"},
	{"back to a tab", "\x1b[1;10H\x1b[Zx", "        x"},
	{"a reset", "hello\x1bcx", "x"},
	{"a pattern", "\x1b#8\x1b[2;1H\x1b[J", "EEEEEEEEEE"},
	{"a region larger than the screen", "\x1b[1;99r\x1b[Sx\x1b[T", "\nx"},
	{"numbers that are too large", "a\x1b[99999999999999999999b\x1b[99999999999Xb", "aaaaaaaaaa\nab"},
}

func TestAScreenShowsWhatATerminalShows(t *testing.T) {
	for _, c := range written {
		s := New(size(5, 10))
		_, _ = s.Write([]byte(c.text))
		if got := s.Text(); got != c.want {
			t.Errorf("%s: %q shows %q, want %q", c.says, c.text, got, c.want)
		}
		byBytes := New(size(5, 10))
		for i := range len(c.text) {
			_, _ = byBytes.Write([]byte{c.text[i]})
		}
		if byBytes.Text() != s.Text() {
			t.Errorf("%s: in pieces it shows %q", c.says, byBytes.Text())
		}
	}
}

// TestTmuxShowsTheSame: another terminal as the judge.
func TestTmuxShowsTheSame(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "tmux")
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-S", socket}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v %s", args, err, out)
		}
		return string(out)
	}
	// tmux leaves these out, or does otherwise.
	others := map[string]bool{
		"half of one is none": true, "what is no UTF-8": true, "a pattern": true, "emoji": true, "lines are drawn": true, "by the other set": true, "a string that another sequence ends": true, "erased whole": true,
		"control characters in a sequence": true, "a region larger than the screen": true, "numbers that are too large": true,
	}
	tmux("new-session", "-d", "-x", "10", "-y", "5", "sleep 60")
	defer tmux("kill-server")
	tmux("set", "-g", "status", "off")
	tmux("resize-window", "-x", "10", "-y", "5")
	for i, c := range written {
		if others[c.says] {
			continue
		}
		file, done := filepath.Join(dir, fmt.Sprint(i)), filepath.Join(dir, fmt.Sprint(i, "-done"))
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		tmux("respawn-pane", "-k", fmt.Sprintf("stty raw -echo; cat %s; tmux -S %s wait-for -S %s; sleep 60", file, socket, filepath.Base(done)))
		tmux("wait-for", filepath.Base(done))
		want := ""
		for limit := time.Now().Add(5 * time.Second); time.Now().Before(limit); { // what it has read it may not have shown yet
			if want = shown(tmux("capture-pane", "-p")); want == c.want {
				break
			}
		}
		if want != c.want {
			t.Errorf("%s: %q: tmux shows %q, this screen %q", c.says, c.text, want, c.want)
		}
	}
}

// shown cuts what Text cuts.
func shown(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func TestAScreenOfAnotherSizeKeepsWhatFits(t *testing.T) {
	s := New(size(5, 10))
	_, _ = s.Write([]byte("1\r\n2\r\n3\r\n4\r\n0123456789"))
	s.Resize(size(3, 4))
	if got := s.Text(); got != "3\n4\n0123" {
		t.Errorf("%q", got)
	}
	if row, column, visible := s.Cursor(); row != 2 || column != 3 || !visible {
		t.Errorf("%d %d %v", row, column, visible)
	}
	s.Resize(size(5, 10))
	_, _ = s.Write([]byte("\r\nx\x1b[?25l"))
	if got := s.Text(); got != "3\n4\n0123\nx" {
		t.Errorf("%q", got)
	}
	if row, column, visible := s.Cursor(); row != 3 || column != 1 || visible {
		t.Errorf("%d %d %v", row, column, visible)
	}
	for _, wrong := range []tipstaff.TerminalSize{{}, size(65535, 65535)} {
		if got := New(wrong).Size(); got.Rows < 1 || got.Rows > MostRows || got.Columns < 1 || got.Columns > MostColumns {
			t.Errorf("%v became %v", wrong, got)
		}
	}
}

func TestQuestionsAreAnsweredWithinBounds(t *testing.T) {
	s := New(size(5, 10))
	_, _ = s.Write([]byte("\x1b[2;3H\x1b[6n\x1b[5n\x1b[c\x1b[>c"))
	if got := string(s.Replies()); got != "\x1b[2;3R\x1b[0n\x1b[?6c\x1b[>0;0;0c" {
		t.Errorf("%q", got)
	}
	_, _ = s.Write([]byte(strings.Repeat("\x1b[6n", 10_000)))
	if n := len(s.Replies()); n > mostReplies || n == 0 {
		t.Errorf("%d bytes", n)
	}
	if s.Replies() != nil {
		t.Error("they are answered twice")
	}
}

func TestKeysSendWhatAKeyboardSends(t *testing.T) {
	s := New(size(5, 10))
	for name, want := range map[string]string{
		"enter": "\r", "Return": "\r", "tab": "\t", "esc": "\x1b", "ESCAPE": "\x1b", "space": " ", "backspace": "\x7f", "delete": "\x1b[3~",
		"up": "\x1b[A", "down": "\x1b[B", "left": "\x1b[D", "right": "\x1b[C", "home": "\x1b[H", "end": "\x1b[F", "pageup": "\x1b[5~", "pagedown": "\x1b[6~",
		"insert": "\x1b[2~", "f1": "\x1bOP", "f5": "\x1b[15~", "f12": "\x1b[24~", "ctrl-c": "\x03", "Ctrl+C": "\x03", "ctrl-z": "\x1a", "ctrl-space": "\x00", "ctrl-[": "\x1b",
		"ctrl-up": "\x1b[1;5A", "shift-tab": "\x1b[Z", "alt-x": "\x1bx", "alt-X": "\x1bX", "alt-enter": "\x1b\r", "a": "a", "Q": "Q", "é": "é", "-": "-",
	} {
		if got, err := s.Key(name); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", name, got, err, want)
		}
	}
	for name, nearest := range map[string]string{"entre": "enter", "pgeup": "pageup", "f13": "f1", "": "", "ctrl-": "ctrl-a", "cltr-c": "ctrl-a", "alt-": "alt-x", "hello": "", "\n": "", strings.Repeat("x", 1<<16): ""} {
		if got, err := s.Key(name); err == nil || !strings.Contains(err.Error(), nearest) || len(err.Error()) > 300 {
			t.Errorf("%.20q: %q, %v", name, got, err)
		}
	}
	_, _ = s.Write([]byte("\x1b[?1h"))
	for name, want := range map[string]string{"up": "\x1bOA", "home": "\x1bOH", "f5": "\x1b[15~", "ctrl-up": "\x1b[1;5A"} {
		if got, err := s.Key(name); err != nil || string(got) != want {
			t.Errorf("as the program has asked for: %q: %q, %v", name, got, err)
		}
	}
}

// TestNoSequenceIsDear: the dearest ones, on the largest screen.
func TestNoSequenceIsDear(t *testing.T) {
	for _, text := range []string{"\x1b[2J", "\x1b[65535S", "\x1b[65535T", "\x1b[65535L", "x\x1b[65535b", "\x1b[65535I", "\x1b[65535Z", "\x1b#8", "\x1b[?1049h\x1b[?1049l", "\x1bc", "\x1b[65535@"} {
		s := New(size(MostRows, MostColumns))
		const times = 200
		took := testcmdtest.ProcessorTime(t, func() {
			for range times {
				_, _ = s.Write([]byte(text))
			}
		})
		if took/times > 20*time.Millisecond {
			t.Errorf("%q takes %v", text, took/times)
		}
	}
}

// FuzzScreen: nothing panics, and nothing is out of bounds.
func FuzzScreen(f *testing.F) {
	for _, c := range written {
		f.Add([]byte(c.text), uint16(5), uint16(10), uint16(3), uint16(4))
	}
	f.Add([]byte("\x1b[?69h\x1b[2;4s\x1b[S\x1b[1;9r\x1b[S\x1b[T\x1b[1;5s\x1b[L"), uint16(2), uint16(2), uint16(1), uint16(1))
	f.Fuzz(func(t *testing.T, text []byte, rows, columns, newRows, newColumns uint16) {
		s := New(size(rows%60, columns%60))
		half := len(text) / 2
		_, _ = s.Write(text[:half])
		s.Resize(size(newRows%60, newColumns%60))
		_, _ = s.Write(text[half:])
		if row, column, _ := s.Cursor(); row < 0 || row >= s.rows || column < 0 || column >= s.columns || s.top < 0 || s.top > s.bottom || s.bottom >= s.rows {
			t.Fatalf("the cursor is at %d, %d of %d, %d", row, column, s.rows, s.columns)
		}
		for _, row := range s.grid {
			if len(row) != s.columns {
				t.Fatal("a row has another length")
			}
			for i, c := range row {
				if c.char == behind && (i == 0 || widthOf(row[i-1].char) != 2) {
					t.Fatalf("half of a wide character stands alone in %q", text)
				}
				if c.char > 0 && widthOf(c.char) == 2 && (i+1 == len(row) || row[i+1].char != behind) {
					t.Fatalf("a wide character has lost its second half in %q", text)
				}
			}
		}
		if lines := strings.Split(s.Text(), "\n"); len(lines) > s.rows {
			t.Fatalf("%d lines of %d", len(lines), s.rows)
		}
	})
}
