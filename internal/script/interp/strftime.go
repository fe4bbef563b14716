//go:build linux

package interp

import (
	"strconv"
	"strings"
	"time"
)

// strftime formats a time; false: the format has what is not known here.
func strftime(format string, t time.Time, zone string) (string, bool) {
	if zone != "" {
		l, err := time.LoadLocation(zone)
		if err != nil {
			return "", false
		}
		t = t.In(l)
	}
	if format == "" {
		format = "%X"
	}
	layouts := map[byte]string{
		'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'B': "January", 'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon",
		'F': "2006-01-02", 'T': "15:04:05", 'X': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'z': "-0700", 'Z': "MST", 'I': "03", 'p': "PM",
		'e': "_2", 'c': "Mon Jan _2 15:04:05 2006", 'j': "002",
	}
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		switch layout, known := layouts[format[i]]; {
		case known:
			out.WriteString(t.Format(layout))
		case format[i] == 's':
			out.WriteString(strconv.FormatInt(t.Unix(), 10))
		case format[i] == 'n':
			out.WriteByte('\n')
		case format[i] == 't':
			out.WriteByte('\t')
		case format[i] == '%':
			out.WriteByte('%')
		case format[i] == 'u':
			out.WriteString(strconv.Itoa((int(t.Weekday())+6)%7 + 1))
		case format[i] == 'w':
			out.WriteString(strconv.Itoa(int(t.Weekday())))
		default:
			return "", false
		}
	}
	return out.String(), true
}
