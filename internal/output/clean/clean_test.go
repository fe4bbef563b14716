package clean

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOutputReadsAsATerminalWouldShowIt(t *testing.T) {
	for _, c := range []struct{ says, in, want string }{
		{"plain text stays", "a\tb \n\n  日本語 é 👩‍💻\n", "a\tb \n\n  日本語 é 👩‍💻\n"},
		{"text without a line end stays so", "x", "x"},
		{"nothing", "", ""},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mtrue\x1b[m\n", "red true\n"},
		{"colours in the 8-bit form", "\u009b31mred\u009bm\n", "red\n"},
		{"a title of the window", "\x1b]0;title\a$ \x1b]2;x\x1b\\done\n", "$ done\n"},
		{"a link keeps its text", "\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\\n", "here\n"},
		{"an image", "a\x1bPq#0;2;0;0;0\n#0~~\n\x1b\\b\n", "ab\n"},
		{"a picture of kitty", "\x1b_Gf=100;AAAA\x1b\\x\n", "x\n"},
		{"a character set", "\x1b(Bx\x1b)0\x1b=\x1b>\x1b7\x1b8\x1bM\n", "x\n"},
		{"modes", "\x1b[?25l\x1b[?1049hx\x1b[?25h\n", "x\n"},
		{"line ends of Windows", "a\r\nb\r\r\nc\r\n", "a\nb\nc\n"},
		{"a progress bar", "  0%\r 50%\r100%\ndone\n", "100%\ndone\n"},
		{"a progress bar that erases", "downloading 10 of 200\r\x1b[Kdone\n", "done\n"},
		{"a progress bar that erases all", "\x1b[2K\x1b[1Gone\x1b[2K\x1b[1Gtwo\n", "two\n"},
		{"a progress bar that covers itself with blanks", "downloading\rok         \n", "ok\n"},
		{"what is not written over stays, as on a terminal", "abcdef\rXY\n", "XYcdef\n"},
		{"a bar without an end", "10%\r20%\r", "20%"},
		{"a spinner", "|\b/\b-\b\\\bdone\n", "done\n"},
		{"backspaces that erase", "abc\b \b\b \bx\n", "ax\n"},
		{"a manual page", "N\bNA\bAM\bME\bE  _\bf_\bi\n", "NAME  fi\n"},
		{"backspaces at the beginning", "\b\bx\n", "x\n"},
		{"the cursor goes left, right and to a column", "abc\x1b[2DX\x1b[CY\x1b[1GZ\n", "ZXcY\n"},
		{"the cursor goes beyond the end", "a\x1b[999999999Cb\x1b[5000Gc\n", "a b c\n"},
		{"erased up to the cursor", "abc\x1b[1Kd\n", "   d\n"},
		{"erased to the end of the screen", "abc\rX\x1b[J\n", "X\n"},
		{"a sequence with a parameter that is too large", "\x1b[99999999999999999999mx\n", "x\n"},
		{"a title without an end hides nothing", "\x1b]0;no end\nline 2\nline 3\n", "0;no end\nline 2\nline 3\n"},
		{"a string without an end hides nothing", "\x1bPno end\nline 2\n\x1b[31mred\n", "no end\nline 2\nred\n"},
		{"text in Latin-1 loses no line", "latin \x90 dcs\nline 2\n", "latin \ufffd dcs\nline 2\n"},
		{"a sequence that is cut off", "x\x1b[3", "x"},
		{"a sequence that is broken", "x\x1b[3\ny\n", "x\ny\n"},
		{"a lone escape", "x\x1b", "x"},
		{"bells and shifts", "a\a\x0e\x0f\v\f\x7fb\n", "ab\n"},
		{"NUL and bytes that are no text", "a\x00b\xff\xfec\xe2\x82\n", "a\ufffdb\ufffd\ufffdc\ufffd\ufffd\n"},
		{"a replacement character that was there", "\ufffd\n", "\ufffd\n"},
		{"byte order marks", "\ufeffa\nb\ufeff\n", "a\nb\n"},
		{"other line ends", "a\u0085b\u2028c\u2029d\n", "a\nb\nc\nd\n"},
		{"control characters of C1", "a\u0080\u009fb\n", "ab\n"},
		{"what turns the direction is shown", "\u202eevil\u202c \u2066x\u2069\n", "<U+202E>evil<U+202C> <U+2066>x<U+2069>\n"},
		{"what programs alone would read is shown", "a\U000e0041\n", "a<U+E0041>\n"},
		{"noncharacters", "\ufffe\uffff\n", "\ufffd\ufffd\n"},
	} {
		got, changed := Clean([]byte(c.in))
		if got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.says, c.in, got, c.want)
		}
		if changed != (got != c.in) {
			t.Errorf("%s: changed is %v", c.says, changed)
		}
	}
}

func TestFiveEqualLinesAreOneWithACount(t *testing.T) {
	const long = "WARNING: the same thing as before, once more\n"
	for _, c := range []struct{ says, in, want string }{
		{"four", strings.Repeat(long, 4), strings.Repeat(long, 4)},
		{"five", strings.Repeat(long, 5) + "x\n", long + "[… 4 more lines like this one …]\nx\n"},
		{"many", "a\n" + strings.Repeat(long, 12_345), "a\n" + long + "[… 12,344 more lines like this one …]\n"},
		{"twice", strings.Repeat(strings.Repeat(long, 9)+"x\n", 2), strings.Repeat(long+"[… 8 more lines like this one …]\nx\n", 2)},
		{"empty lines, where a count is longer", strings.Repeat("\n", 20), strings.Repeat("\n", 20)},
		{"empty lines, where it is shorter", strings.Repeat("\n", 200), "\n[… 199 more lines like this one …]\n"},
		{"the last one is not complete", strings.Repeat(long, 6) + long[:10], long + "[… 5 more lines like this one …]\n" + long[:10]},
		{"lines that differ in colour only", strings.Repeat("\x1b[31m"+long, 5), long + "[… 4 more lines like this one …]\n"},
	} {
		got, changed := Clean([]byte(c.in))
		if got != c.want || changed != (got != c.in) {
			t.Errorf("%s: got %q, changed %v", c.says, got, changed)
		}
	}
}

// TestAStreamOfSequencesCostsNoMoreThanItsLength: neither time nor memory can
// be asked for with few bytes.
func TestAStreamOfSequencesCostsNoMoreThanItsLength(t *testing.T) {
	for _, unit := range []string{"\x1b[9999Cx\n", "\x1b]", "\x1bP", "\x1b[", "\x1b[1", "\x1b_\n", "\r", "\b", "\x1b[9999Gx", "\x1b[2K", "a\x1b[1K", "\x1bPa\n"} {
		in := strings.Repeat(unit, (1<<20)/len(unit))
		if got, _ := Clean([]byte(in)); len(got) > len(in) {
			t.Errorf("%q: %d bytes became %d", unit, len(in), len(got))
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\r\nb\b\x1b[31mc\n", "\x1b]0;x\a\x1bPq\n\x1b\\", "\x00\xff\u202e\u2028\n\n\n\n\n\n", strings.Repeat("equal\n", 20), "\u009b3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		kept := bytes.Clone(p)
		got, changed := Clean(p)
		if !bytes.Equal(p, kept) {
			t.Fatal("the input was changed")
		}
		if !utf8.ValidString(got) || len(got) > 3*len(p) {
			t.Errorf("%q became %d bytes: %q", p, len(got), got)
		}
		for _, r := range got {
			if r < ' ' && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 || r == bom || r == 0x2028 || r == 0x2029 || hides(r) || r == 0xfffe || r == 0xffff {
				t.Errorf("%q: %U is left", p, r)
			}
		}
		if !changed && got != string(p) {
			t.Errorf("%q became %q, and is said to be as it was", p, got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	var log, progress bytes.Buffer
	for i := 0; log.Len() < 1<<20; i++ {
		fmt.Fprintf(&log, "2026-01-01T00:00:00Z INFO server.go:%d: request %d took %d ms\n", i%97, i, i%13)
		fmt.Fprintf(&progress, "\x1b[32m%d%%\x1b[0m of it\r", i%100)
	}
	for name, p := range map[string][]byte{"log": log.Bytes(), "progress": progress.Bytes()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				Clean(p)
			}
		})
	}
}
