package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// span is a complete or incomplete subtree: the leaves from..to, from 0, without
// to.
type span struct {
	from, to uint64
	tree     tree
}

// pathOf returns the subtrees whose roots lead from a leaf to the root of the tree
// over from..to, the lowest first (RFC 6962, section 2.1.1).
func pathOf(leaf, from, to uint64) []*span {
	if to-from <= 1 {
		return nil
	}
	k := uint64(1) // the largest power of two below to-from
	for k*2 < to-from {
		k *= 2
	}
	if leaf < from+k {
		return append(pathOf(leaf, from, from+k), &span{from: from + k, to: to})
	}
	return append(pathOf(leaf, from+k, to), &span{from: from, to: from + k})
}

// readProof reads the given number of records of a trail and returns record seq with
// the hashes from it to the root. It keeps one subtree root for each step, not the
// lines.
func (f Files) readProof(ctx context.Context, trail string, records, seq uint64) (record []byte, steps tlog.RecordProof, err error) {
	segments, _, err := f.list(trail)
	if err != nil {
		return nil, nil, err
	}
	p := prover{in: f, records: records, leaf: seq - 1, steps: pathOf(seq-1, 0, records)}
	p.spans = slices.Clone(p.steps)
	slices.SortFunc(p.spans, func(a, b *span) int { return cmp.Compare(a.from, b.from) })
	for _, segment := range segments {
		if err := p.read(ctx, segment); err != nil {
			return nil, nil, err
		}
	}
	if p.n < records {
		return nil, nil, errors.New("the trail is shorter than its checkpoint says; see tipstaff audit verify")
	}
	for _, s := range p.steps {
		steps = append(steps, s.tree.root())
	}
	return p.record, steps, nil
}

// prover adds each record to the one subtree that it belongs to.
type prover struct {
	in            Files
	records, leaf uint64
	steps         []*span // in the order of the proof
	spans         []*span // the same, in the order of their leaves, without those that are complete
	n             uint64  // number of records read
	record        []byte
}

// read adds the lines of a segment to the subtrees that they belong to. A line without
// an end, or one that is too long, ends it without an error: that is a fault of the
// trail, which Verify reports.
func (p *prover) read(ctx context.Context, segment string) error {
	f, err := p.in.Open(segment)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	for in := bufio.NewReaderSize(f, readBuffer); p.n < p.records; p.n++ {
		line, err := in.ReadSlice('\n')
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
			return nil // the end of the file, or a fault, which is for verify to report
		default:
			return err
		}
		line = line[:len(line)-1]
		if p.n%checkpointRecords == 0 && context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		if p.n == p.leaf {
			p.record = bytes.Clone(line)
			continue
		}
		for len(p.spans) > 0 && p.spans[0].to <= p.n {
			p.spans = p.spans[1:]
		}
		p.spans[0].tree.add(line)
	}
	return nil
}
