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

// Most of what a line has to be asked, it can be asked by itself. So the lines of
// a file are looked at in batches, on all processors, and only what concerns
// their order is judged one after the other.

// sight is what a line says by itself.
type sight struct {
	size   int // with its newline
	head   head
	own    links
	leaf   tlog.Hash // in the tree
	reason Reason    // what is wrong with it; "" if it is sound
}

// batch is a run of whole lines. What ends the file comes with the last one.
type batch struct {
	seen chan []sight // holds one value when the lines have been looked at
	rest int          // bytes of a line that has no end
	err  error        // io.EOF, or why reading ended; nil: another batch follows
}

// readBuffer is more than any line is long.
const readBuffer = 256 << 10

// batchBytes is how much is looked at in one go.
const batchBytes = 4 * readBuffer

// batches reads in to its end and looks at its lines. It lets go of in before
// the channel is closed; whoever does not want the rest closes stop and waits
// for that.
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

// errTooLong: a line goes on for longer than any that is written.
var errTooLong = errors.New("a line is too long")

// lookAt takes the lines of text apart, each of which has its newline.
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

// look holds a line to its own hash. sha is used to work with.
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
