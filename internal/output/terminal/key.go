package terminal

import (
	"fmt"
	"slices"
	"strings"

	"tipstaff/internal/nearest"
)

// Key returns what a key sends: "enter", "ctrl-c", "up", "f1", "alt-x",
// "shift-tab", or a single character. An error lists the names that are nearest.
//
// Programs that draw the whole screen often ask for other sequences of the cursor
// keys; they get these.
func (s *Screen) Key(name string) ([]byte, error) { return key(name, s.applicationKeys) }

// keys are those with a name, as an xterm sends them and terminfo has them under
// xterm-256color.
var keys = map[string]string{
	"enter": "\r", "tab": "\t", "esc": "\x1b", "space": " ", "backspace": "\x7f", "shift-tab": "\x1b[Z",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"insert": "\x1b[2~", "delete": "\x1b[3~", "pageup": "\x1b[5~", "pagedown": "\x1b[6~",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
	"f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
}

// otherNames are what the same keys are called elsewhere.
var otherNames = map[string]string{
	"return": "enter", "cr": "enter", "escape": "esc", "bs": "backspace", "del": "delete", "ins": "insert",
	"pgup": "pageup", "page-up": "pageup", "pgdn": "pagedown", "pgdown": "pagedown", "page-down": "pagedown",
	"backtab": "shift-tab", "arrow-up": "up", "arrow-down": "down", "arrow-left": "left", "arrow-right": "right",
	"arrowup": "up", "arrowdown": "down", "arrowleft": "left", "arrowright": "right",
}

// cursorKeys send ESC O in place of ESC [ in the application mode.
var cursorKeys = []string{"up", "down", "left", "right", "home", "end"}

// modified are what xterm adds to the sequence of a cursor key.
var modified = map[string]string{"shift": "2", "alt": "3", "ctrl": "5"}

func key(name string, application bool) ([]byte, error) {
	if len([]rune(name)) == 1 && name > " " && name != "\x7f" {
		return []byte(name), nil
	}
	low := strings.ToLower(strings.ReplaceAll(name, "+", "-"))
	if same, is := otherNames[low]; is {
		low = same
	}
	if sends, is := keys[low]; is {
		if application && slices.Contains(cursorKeys, low) {
			sends = strings.Replace(sends, "[", "O", 1)
		}
		return []byte(sends), nil
	}
	modifier, rest, _ := strings.Cut(low, "-")
	if same, is := otherNames[rest]; is {
		rest = same
	}
	switch code := modified[modifier]; {
	case code != "" && slices.Contains(cursorKeys, rest):
		return []byte("\x1b[1;" + code + keys[rest][2:]), nil
	case modifier == "ctrl" && ctrl(rest) >= 0:
		return []byte{byte(ctrl(rest))}, nil
	case modifier == "alt" && rest != "":
		_, rest, _ = strings.Cut(name, name[len("alt"):len("alt")+1]) // a letter keeps its case
		if sends, err := key(rest, false); err == nil {
			return append([]byte{esc}, sends...), nil
		}
	}
	return nil, unknownKey(name)
}

// ctrl returns what a key sends together with ctrl; -1 if that is nothing of its
// own.
func ctrl(key string) int {
	switch {
	case key == "space":
		return 0
	case key == "backspace":
		return '\b'
	case len(key) != 1:
		return -1
	case key[0] >= 'a' && key[0] <= 'z':
		return int(key[0] - 'a' + 1)
	case strings.Contains("@[\\]^_", key):
		return int(key[0] - '@')
	case key == "/":
		return '_' - '@'
	}
	return -1
}

// unknownKey says which keys there are, the nearest first.
func unknownKey(name string) error {
	names := []string{"ctrl-a", "alt-x"}
	for one := range keys {
		names = append(names, one)
	}
	low := strings.ToLower(name[:min(len(name), 40)])
	slices.SortFunc(names, func(a, b string) int {
		if d := nearest.Distance(low, a) - nearest.Distance(low, b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return fmt.Errorf("there is no key %.40q; the nearest are %s. A single character stands for itself, ctrl-a to ctrl-z and alt- with a key are keys as well", name, strings.Join(names[:4], ", "))
}
