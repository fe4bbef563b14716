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
	command  string
	exitCode int
	dropped  int64 // number of output bytes that were left out
	events   []event
}

type event struct {
	after time.Duration // since the beginning
	text  string
}

// header is the first line, asciicast v3.
type header struct {
	Version   int    `json:"version"`
	Term      term   `json:"term"`
	Timestamp int64  `json:"timestamp"` // Unix time in seconds
	Command   string `json:"command,omitempty"`
	Title     string `json:"title,omitempty"`
}

type term struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// writeTo writes the cast and returns the SHA-256 of what was written.
func (c cast) writeTo(w io.Writer) (sum string, err error) {
	hash := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(w, hash))
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	h := header{Version: 3, Term: term{columns, rows}, Timestamp: c.began.Unix(), Command: c.command}
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
		if err := write(e.after, "o", lineEnds(e.text)); err != nil {
			return "", err
		}
	}
	if err := errors.Join(write(before, "x", strconv.Itoa(c.exitCode)), out.Flush()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
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
			c.events = append(c.events, event{at, data})
		case "x":
			c.exitCode, _ = strconv.Atoi(data)
		}
	}
	return c, lines.Err()
}

// maxGap is longer than any command runs.
const maxGap = 1000 * time.Hour
