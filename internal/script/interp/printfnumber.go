//go:build linux

package interp

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

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
		} else if errors.Is(err, strconv.ErrRange) {
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
