package spool

import "errors"

// Excerpt is a part of an output as a reader gets it, with secrets hidden.
type Excerpt struct {
	Text []byte
	// From is the offset at which the piece begins, and Next the one at which the
	// part begins that follows it. Text is shorter or longer than what lies
	// between where one stream was asked for, lines were left out or something
	// was hidden.
	From, Next int64
	Total      int64 // bytes that have come so far
	Matched    int   // lines that match, of Grep
	Lost       bool  // something of the part that was asked for is not kept
}

// MostText bounds the text of a piece, whatever limit is asked for.
const MostText = 1 << 20

// ErrGone says that the output was removed, or that its file is no longer there.
var ErrGone = errors.New("this output is no longer kept")

// chunk is output of one stream without a gap: data[i] has the offset at+i.
type chunk struct {
	at   int64
	from Stream
	data []byte
}

func (c chunk) end() int64 { return c.at + int64(len(c.data)) }

// window is what is kept between two offsets of an output, as it came.
type window struct {
	from, until int64
	chunks      []chunk
	lost        bool  // something between is missing; see take
	total       int64 // of the output
	done        bool
}

// cut returns the part of a chunk that lies between two offsets.
func (c chunk) cut(from, to int64) chunk {
	if from > c.at {
		n := min(from-c.at, int64(len(c.data)))
		c.at, c.data = c.at+n, c.data[n:]
	}
	if over := c.end() - to; over > 0 {
		c.data = c.data[:max(0, int64(len(c.data))-over)]
	}
	return c
}
