package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"runtime"

	"golang.org/x/mod/sumdb/tlog"
)

// Most properties of a line can be checked without the lines around it. So the
// lines of a file are checked in batches, on all processors, and only what
// depends on their order is checked sequentially.

// lineCheck is what one line shows by itself, without the lines around it.
type lineCheck struct {
	size   int // including its newline
	head   head
	own    links
	leaf   tlog.Hash // in the Merkle tree
	reason Reason    // what is wrong with the line; "" if nothing
}

// batch is a run of whole lines. The last batch also describes the end of the
// file.
type batch struct {
	checked chan *buffer // receives one value when the lines have been checked
	partial int          // bytes of a line without an end
	err     error        // io.EOF, or why reading ended; nil: another batch follows
}

// buffer is the memory of one batch. A trail is read with a few of them, so that what
// it takes to check a trail does not grow with its length.
type buffer struct {
	text  []byte
	lines []lineCheck
}

// readBuffer is more than the length of any line.
const readBuffer = 256 << 10

// batchBytes is how much is checked in one batch.
const batchBytes = 2 * readBuffer

// bufferPool are those that a reader has used already.
type bufferPool chan *buffer

// take returns a buffer that is free, or a new one.
func (r bufferPool) take() *buffer {
	select {
	case b := <-r:
		return b
	default:
		return &buffer{text: make([]byte, batchBytes)}
	}
}

// put returns a buffer whose lines have been judged.
func (r bufferPool) put(b *buffer) {
	select {
	case r <- b:
	default: // there are enough
	}
}

// batches reads in to its end and checks its lines, on all processors. A batch arrives
// in order, but its lines may still be under check: receive its buffer from checked
// first, and put it back into free when done.
//
// The channel is closed when in is no longer used. A caller that does not need the rest
// closes stop and drains the channel.
func batches(in io.Reader, free bufferPool, stop <-chan struct{}) <-chan batch {
	out := make(chan batch, runtime.GOMAXPROCS(0))
	go func() {
		defer close(out)
		var rest []byte // in the buffer before, which nothing but this goroutine overwrites
		for err := error(nil); err == nil; {
			b := batch{checked: make(chan *buffer, 1)}
			use := free.take()
			text := use.text[:batchBytes]
			n := copy(text, rest)
			var more int
			more, err = io.ReadFull(in, text[n:])
			text = text[:n+more]
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			whole := text[:bytes.LastIndexByte(text, '\n')+1]
			rest = text[len(whole):]
			if b.partial, b.err = len(rest), err; len(rest) > readBuffer {
				b.err, err = errTooLong, errTooLong
			}
			go func() {
				use.lines = checkLines(use.lines[:0], whole)
				b.checked <- use
			}()
			select {
			case out <- b:
			case <-stop:
				return
			}
		}
	}()
	return out
}

// errTooLong: a line is longer than any that Append writes.
var errTooLong = errors.New("a line is too long")

// checkLines checks the lines of text, each of which ends with a newline, and appends
// the results to checks.
func checkLines(checks []lineCheck, text []byte) []lineCheck {
	sha := sha256.New()
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		checks = append(checks, checkLine(sha, text[:end]))
		text = text[end+1:]
	}
	return checks
}

// checkLine checks a line against its own hash. It uses sha as scratch space.
func checkLine(sha hash.Hash, line []byte) lineCheck {
	s := lineCheck{size: len(line) + 1}
	switch {
	case s.size > readBuffer:
		s.reason = TooLong
		return s
	case !json.Valid(line):
		s.reason = NotJSON
		return s
	}
	var headed, linked bool
	s.head, headed = readHead(line)
	s.own, linked = unlink(sha, line)
	if !headed || !linked || s.own.actual != s.own.hash {
		s.reason = Altered
		return s
	}
	s.leaf = tlog.RecordHash(line)
	return s
}
