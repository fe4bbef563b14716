package recording

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tipstaff"
)

const (
	extension = ".cast"
	// Commands of agents do not write to a terminal; this is the size that
	// players use.
	columns, rows = 120, 30
	maxLine       = 16 << 20 // of a recording that is read
)

// cast is the content of a recording.
type cast struct {
	began    time.Time
	size     *tipstaff.TerminalSize // of the terminal, at first; nil: the command had none
	command  string
	exitCode int
	dropped  int64 // number of output bytes that were left out
	events   []event
}

// event is output, or a new size of the terminal.
type event struct {
	after time.Duration // since the beginning
	text  string
	size  *tipstaff.TerminalSize // nil: it is output
}

// header is the first line, asciicast v3.
type header struct {
	Version   int    `json:"version"`
	Term      term   `json:"term"`
	Timestamp int64  `json:"timestamp"` // Unix time in seconds
	Command   string `json:"command,omitempty"`
	Title     string `json:"title,omitempty"`
}

// term is the terminal. Commands without one have no type.
type term struct {
	Cols int    `json:"cols"`
	Rows int    `json:"rows"`
	Type string `json:"type,omitempty"`
}

// termType is what commands with a terminal are told that it is.
const termType = "xterm-256color"

// writeTo writes the cast and returns the SHA-256 of what was written.
func (c cast) writeTo(w io.Writer) (sum string, err error) {
	hash := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(w, hash))
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	h := header{Version: 3, Term: c.term(), Timestamp: c.began.Unix(), Command: c.command}
	if c.dropped > 0 {
		h.Title = fmt.Sprintf("the last %d bytes are not in the recording", c.dropped)
	}
	if err := enc.Encode(h); err != nil {
		return "", err
	}
	var before time.Duration
	write := func(after time.Duration, code, data string) error {
		// v3 uses the time since the previous event.
		gap := max(after-before, 0)
		before = max(after, before)
		seconds := json.Number(strconv.FormatFloat(gap.Seconds(), 'f', 6, 64))
		return enc.Encode([]any{seconds, code, data})
	}
	for _, e := range c.events {
		code, data := c.coded(e)
		if err := write(e.after, code, data); err != nil {
			return "", err
		}
	}
	if err := errors.Join(write(before, "x", strconv.Itoa(c.exitCode)), out.Flush()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (c cast) term() term {
	if c.size == nil {
		return term{Cols: columns, Rows: rows}
	}
	return term{Cols: int(c.size.Columns), Rows: int(c.size.Rows), Type: termType}
}

// coded returns an event as the file has it.
func (c cast) coded(e event) (code, data string) {
	switch {
	case e.size != nil:
		return "r", fmt.Sprintf("%dx%d", e.size.Columns, e.size.Rows)
	case c.size != nil:
		return "o", e.text
	}
	return "o", lineEnds(e.text)
}

// lineEnds converts line ends to those of a terminal, because a pipe does not.
func lineEnds(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// read parses a cast.
func read(data []byte) (c cast, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxLine)
	var h header
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &h) != nil || h.Version != 3 {
		return c, errors.New("it is no recording (asciicast v3)")
	}
	c.began, c.command = time.Unix(h.Timestamp, 0), h.Command
	if h.Term.Type != "" {
		c.size = &tipstaff.TerminalSize{Rows: uint16(h.Term.Rows), Columns: uint16(h.Term.Cols)}
	}
	var at time.Duration
	for n := 2; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 || lines.Bytes()[0] == '#' {
			continue
		}
		var raw []json.RawMessage
		var gap float64
		var code, data string
		if json.Unmarshal(lines.Bytes(), &raw) != nil || len(raw) != 3 ||
			json.Unmarshal(raw[0], &gap) != nil || json.Unmarshal(raw[1], &code) != nil || json.Unmarshal(raw[2], &data) != nil ||
			gap < 0 || gap > maxGap.Seconds() {
			return c, fmt.Errorf("line %d of the recording cannot be read", n)
		}
		at += time.Duration(gap * float64(time.Second))
		switch code {
		case "o":
			c.events = append(c.events, event{after: at, text: data})
		case "r":
			var to tipstaff.TerminalSize
			if _, err := fmt.Sscanf(data, "%dx%d", &to.Columns, &to.Rows); err != nil {
				return c, fmt.Errorf("line %d of the recording cannot be read", n)
			}
			c.events = append(c.events, event{after: at, size: &to})
		case "x":
			c.exitCode, _ = strconv.Atoi(data)
		}
	}
	return c, lines.Err()
}

// maxGap is longer than any command runs.
const maxGap = 1000 * time.Hour
