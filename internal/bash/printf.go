//go:build linux

package bash

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// printf is the builtin of that name.
func printf(s *Shell, a []string) int {
	args := a[1:]
	into := ""
	if len(args) > 1 && args[0] == "-v" {
		into, args = args[1], args[2:]
	}
	switch {
	case len(args) == 0:
	case args[0] == "--":
		args = args[1:]
	case len(args[0]) > 1 && args[0][0] == '-':
		return s.usage("printf", "%s: invalid option", args[0][:2])
	}
	if len(args) == 0 {
		return s.usage("printf", "usage: printf [-v var] format [arguments]")
	}
	f := &formatting{s: s, args: args[1:], keeps: into != ""}
	f.all(args[0])
	if into != "" {
		if err := s.assignWord(into, f.out.String()); err != nil {
			s.failBuiltin(err)
			return 1
		}
		return f.status
	}
	if !s.write(f.out.String()) {
		return s.broken()
	}
	return f.status
}

// formatting is one printf.
type formatting struct {
	s      *Shell
	args   []string
	used   int
	out    strings.Builder
	status int
	stops  bool
	keeps  bool // the text is for a variable
}

// complain reports an error behind the lines that are written already.
func (f *formatting) complain(format string, args ...any) {
	if !f.keeps {
		text := f.out.String()
		lines := strings.LastIndexByte(text, '\n') + 1
		if f.s.write(text[:lines]) {
			f.out.Reset()
			f.out.WriteString(text[lines:])
		}
	}
	f.s.errorf(format, args...)
}

func (f *formatting) all(format string) {
	for {
		before := f.used
		f.once(format)
		if f.stops || f.used >= len(f.args) || f.used == before || f.out.Len() > maxValue {
			return
		}
	}
}

func (f *formatting) next() (string, bool) {
	if f.used >= len(f.args) {
		return "", false
	}
	f.used++
	return f.args[f.used-1], true
}

func (f *formatting) once(format string) {
	for i := 0; i < len(format) && !f.stops; i++ {
		switch {
		case format[i] == '\\' && i+1 < len(format):
			n := 1 + f.escape(format[i+1:])
			i += n - 1
		case format[i] == '%':
			i += f.directive(format[i:]) - 1
		default:
			f.out.WriteByte(format[i])
		}
	}
}

// escape writes an escape of the format.
func (f *formatting) escape(text string) int {
	switch c := text[0]; {
	case c >= '0' && c <= '7':
		n := digits(text, 3, 8)
		f.out.WriteByte(byte(numberOf(text[:n], 8)))
		return n
	case c == 'c':
		f.stops = true
		return 1
	case c == '\'' || c == '"' || c == '?':
		f.out.WriteByte(c)
		return 1
	}
	return escape(&f.out, text)
}

// directive writes one % and returns its length.
func (f *formatting) directive(text string) int {
	i := 1
	for i < len(text) && strings.IndexByte("#-+ 0'", text[i]) >= 0 {
		i++
	}
	flags := strings.ReplaceAll(text[1:i], "'", "")
	width, n := f.size(text[i:])
	i += n
	precision := -1
	if i < len(text) && text[i] == '.' {
		i++
		precision, n = f.size(text[i:])
		precision = max(precision, 0)
		i += n
	}
	if width < 0 {
		flags, width = flags+"-", -width
	}
	for i < len(text) && strings.IndexByte("hlLqjzt", text[i]) >= 0 && !(text[i] == 'q') {
		i++
	}
	if i >= len(text) {
		f.complain("printf: `%s': missing format character", text)
		f.status, f.stops = 1, true
		return len(text)
	}
	if text[i] == '(' {
		return f.clock(text, i, flags, width)
	}
	f.convert(text[i], flags, width, precision, text[:i+1])
	return i + 1
}

// size reads a width or precision; * takes it from the arguments.
func (f *formatting) size(text string) (value, length int) {
	if strings.HasPrefix(text, "*") {
		arg, _ := f.next()
		n, _ := strconv.Atoi(arg)
		return n, 1
	}
	n := digits(text, 9, 10)
	value, _ = strconv.Atoi(text[:n])
	return min(value, 1<<20), n
}

func (f *formatting) convert(c byte, flags string, width, precision int, source string) {
	switch c {
	case '%':
		f.out.WriteByte('%')
	case 'c':
		arg, _ := f.next()
		if arg == "" {
			f.pad("\x00", flags, width)
			return
		}
		f.pad(arg[:1], flags, width)
	case 's', 'b', 'q', 'Q':
		f.text(c, flags, width, precision)
	case 'd', 'i':
		n := f.integer()
		digits := strings.TrimPrefix(strconv.FormatInt(n, 10), "-")
		sign := ""
		switch {
		case n < 0:
			sign = "-"
		case strings.Contains(flags, "+"):
			sign = "+"
		case strings.Contains(flags, " "):
			sign = " "
		}
		f.digits(sign, digits, flags, width, precision)
	case 'u', 'o', 'x', 'X':
		f.unsigned(c, flags, width, precision)
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		f.float(c, flags, width, precision)
	case 'n':
		f.complain("printf: %%n is not supported")
		f.status, f.stops = 1, true
	default:
		f.complain("printf: `%c': invalid format character", c)
		f.status, f.stops = 1, true
	}
	_ = source
}

func (f *formatting) text(c byte, flags string, width, precision int) {
	arg, _ := f.next()
	switch c {
	case 'b':
		arg, f.stops = backslashes(arg, false0(arg))
	case 'q', 'Q':
		arg = backslashed(arg)
	}
	if precision >= 0 && c != 'q' {
		if f.s.utf8() {
			if runes := []rune(arg); utf8.ValidString(arg) && len(runes) > precision {
				arg = string(runes[:precision])
			} else if !utf8.ValidString(arg) {
				arg = arg[:min(len(arg), precision)]
			}
		} else {
			arg = arg[:min(len(arg), precision)]
		}
	}
	f.pad(arg, flags, width)
}

// false0: %b reads \0NNN like echo -e, and \NNN too.
func false0(string) bool { return true }

// pad writes a text in its width. Bash counts bytes.
func (f *formatting) pad(text, flags string, width int) {
	fill := strings.Repeat(" ", max(0, width-len(text)))
	if strings.Contains(flags, "-") {
		f.out.WriteString(text + fill)
		return
	}
	f.out.WriteString(fill + text)
}

func (f *formatting) digits(sign, digits, flags string, width, precision int) {
	if precision == 0 && digits == "0" {
		digits = ""
	}
	digits = strings.Repeat("0", max(0, precision-len(digits))) + digits
	if strings.Contains(flags, "0") && !strings.Contains(flags, "-") && precision < 0 {
		digits = strings.Repeat("0", max(0, width-len(sign)-len(digits))) + digits
	}
	f.pad(sign+digits, flags, width)
}

func (f *formatting) unsigned(c byte, flags string, width, precision int) {
	n := uint64(f.integer())
	base, sign := 10, ""
	switch c {
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
	}
	text := strconv.FormatUint(n, base)
	if strings.Contains(flags, "#") && n != 0 {
		switch c {
		case 'o':
			text = "0" + text
		case 'x', 'X':
			sign = "0x"
		}
	}
	if c == 'X' {
		text, sign = strings.ToUpper(text), strings.ToUpper(sign)
	}
	f.digits(sign, text, flags, width, precision)
}

// integer reads an argument as C does; a quote stands for the next character.
func (f *formatting) integer() int64 {
	arg, given := f.next()
	if !given || arg == "" && given {
		if given {
			return 0
		}
		return 0
	}
	if arg[0] == '\'' || arg[0] == '"' {
		r, _ := utf8.DecodeRuneInString(arg[1:])
		if len(arg) == 1 {
			return 0
		}
		return int64(r)
	}
	text := strings.TrimLeft(arg, " \t\n")
	sign := ""
	if text != "" && (text[0] == '-' || text[0] == '+') {
		sign = text[:1]
	}
	digitsOnly := text[len(sign):]
	end := integerEnd(digitsOnly)
	n, err := strconv.ParseInt(strings.TrimPrefix(sign, "+")+digitsOnly[:end], 0, 64)
	if err != nil && end > 0 {
		if u, err := strconv.ParseUint(digitsOnly[:end], 0, 64); err == nil && sign != "-" {
			n = int64(u)
		} else if e, is := err.(*strconv.NumError); is && e.Err == strconv.ErrRange {
			f.complain("printf: warning: %s: Numerical result out of range", arg)
		}
	}
	if end < len(digitsOnly) || end == 0 {
		f.complain("printf: %s: invalid number", arg)
		f.status = 1
	}
	return n
}

// integerEnd is how much of a text is a C integer.
func integerEnd(text string) int {
	switch {
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0X"):
		if n := digits(text[2:], len(text), 16); n > 0 {
			return 2 + n
		}
		return 1
	case strings.HasPrefix(text, "0"):
		return digits(text, len(text), 8)
	}
	return digits(text, len(text), 10)
}

func (f *formatting) float(c byte, flags string, width, precision int) {
	arg, _ := f.next()
	var v float64
	if arg != "" {
		var err error
		text := strings.TrimSpace(arg)
		if v, err = strconv.ParseFloat(text, 64); err != nil && !math.IsInf(v, 0) {
			if n, err := strconv.ParseInt(text, 0, 64); err == nil {
				v = float64(n)
			} else {
				end := len(text)
				for end > 0 && err != nil {
					end--
					v, err = strconv.ParseFloat(text[:end], 64)
				}
				f.complain("printf: %s: invalid number", arg)
				f.status = 1
			}
		}
	}
	if c == 'a' || c == 'A' {
		f.complain("printf: %%%c is not supported", c)
		f.status, f.stops = 1, true
		return
	}
	if precision < 0 {
		precision = 6
	}
	verb := string(c)
	if verb == "F" {
		verb = "f"
	}
	text := fmt.Sprintf("%"+strings.ReplaceAll(flags, "'", "")+"*.*"+verb, width, precision, v)
	if math.IsInf(v, 0) || math.IsNaN(v) {
		text = strings.ToLower(text)
		text = strings.ReplaceAll(text, "+inf", "inf")
	}
	f.out.WriteString(text)
}

// clock is %(format)T.
func (f *formatting) clock(text string, at int, flags string, width int) int {
	end := strings.Index(text, ")T")
	if end < 0 {
		f.complain("printf: `%s': invalid format", text)
		f.status, f.stops = 1, true
		return len(text)
	}
	arg, given := f.next()
	t := time.Now()
	if n, err := strconv.ParseInt(arg, 10, 64); given && err == nil && n >= 0 {
		t = time.Unix(n, 0)
	} else if given && arg == "-2" {
		t = f.s.started
	}
	out, ok := strftime(text[at+1:end], t, f.s.text("TZ"))
	if !ok {
		f.complain("printf: %s: this time format is not supported; use date", text[at+1:end])
		f.status, f.stops = 1, true
		return len(text)
	}
	f.pad(out, flags, width)
	return end + 2
}
