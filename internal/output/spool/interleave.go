package spool

const (
	// inMemory is how much of an output is held before it gets a file.
	inMemory = 16 << 10
	// batch is how much is held of an output with a file before it is written.
	batch = 64 << 10
	// lastKept is how much of its end is held of an output whose file takes no
	// more.
	lastKept = 32 << 10
	// mostRuns bounds how often the stream changes in what is held.
	mostRuns = 4096
)

// run is what came of one stream without anything from the other between.
type run struct {
	stream Stream
	n      int
}

// interleaveBuffer is the latest part of an output, in memory: data[i] has the offset from+i.
type interleaveBuffer struct {
	from int64
	data []byte
	runs []run
}

// end is the offset behind the last byte.
func (h *interleaveBuffer) end() int64 { return h.from + int64(len(h.data)) }

func (h *interleaveBuffer) add(from Stream, p []byte) {
	h.data = append(h.data, p...)
	if last := len(h.runs) - 1; last >= 0 && h.runs[last].stream == from {
		h.runs[last].n += len(p)
		return
	}
	h.runs = append(h.runs, run{from, len(p)})
}

// clear empties it, and keeps its memory.
func (h *interleaveBuffer) clear() {
	h.from = h.end()
	h.data, h.runs = h.data[:0], h.runs[:0]
}

// addLast is add for an output whose file takes no more: only the last bytes
// stay.
func (h *interleaveBuffer) addLast(from Stream, p []byte) {
	if len(p) >= lastKept {
		h.from = h.end() + int64(len(p)-lastKept)
		h.data, h.runs = append(h.data[:0], p[len(p)-lastKept:]...), append(h.runs[:0], run{from, lastKept})
		return
	}
	h.add(from, p)
	if len(h.data) > 2*lastKept {
		h.shift(len(h.data) - lastKept)
	}
	if len(h.runs) > mostRuns {
		n := 0
		for _, r := range h.runs[:mostRuns/2] {
			n += r.n
		}
		h.shift(n)
	}
}

// shift drops the first n bytes.
func (h *interleaveBuffer) shift(n int) {
	h.from += int64(n)
	h.data = h.data[:copy(h.data, h.data[n:])]
	i := 0
	for ; n > 0 && n >= h.runs[i].n; i++ {
		n -= h.runs[i].n
	}
	h.runs = h.runs[:copy(h.runs, h.runs[i:])]
	if n > 0 {
		h.runs[0].n -= n
	}
}
