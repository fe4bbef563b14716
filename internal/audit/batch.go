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

// sight is what a line shows by itself.
type sight struct {
	size   int // including its newline
	head   head
	own    links
	leaf   tlog.Hash // in the Merkle tree
	reason Reason    // what is wrong with the line; "" if nothing
}

// batch is a run of whole lines. The last batch also describes the end of the
// file.
type batch struct {
	seen chan []sight // receives one value when the lines have been checked
	rest int          // bytes of a line without an end
	err  error        // io.EOF, or why reading ended; nil: another batch follows
}

// readBuffer is more than the length of any line.
const readBuffer = 256 << 10

// batchBytes is how much is checked in one batch.
const batchBytes = 4 * readBuffer

// batches reads in to its end and checks its lines. It no longer uses in when
// the channel is closed. A caller that does not need the rest closes stop and
// waits for that.
func batches(in io.Reader, stop <-chan struct{}) <-chan batch {
	out := make(chan batch, runtime.GOMAXPROCS(0))
	go func() {
		defer close(out)
		var rest []byte
		for err := error(nil); err == nil; {
			b := batch{seen: make(chan []sight, 1)}
			text := make([]byte, batchBytes)
			n := copy(text, rest)
			var more int
			more, err = io.ReadFull(in, text[n:])
			text = text[:n+more]
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			whole := text[:bytes.LastIndexByte(text, '\n')+1]
			rest = text[len(whole):]
			if b.rest, b.err = len(rest), err; len(rest) > readBuffer {
				b.err, err = errTooLong, errTooLong
			}
			go func() { b.seen <- lookAt(whole) }()
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

// lookAt checks the lines of text, each of which ends with a newline.
func lookAt(text []byte) []sight {
	seen := make([]sight, 0, len(text)/512)
	sha := sha256.New()
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		seen = append(seen, look(sha, text[:end]))
		text = text[end+1:]
	}
	return seen
}

// look checks a line against its own hash. It uses sha as scratch space.
func look(sha hash.Hash, line []byte) sight {
	s := sight{size: len(line) + 1}
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
