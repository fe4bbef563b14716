package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"time"
)

// digest is a hash as written: 64 hexadecimal digits.
type digest [2 * sha256.Size]byte

// origin is the prev member of the first record.
func origin() digest { return digest(bytes.Repeat([]byte("0"), len(digest{}))) }

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	var d digest
	hex.Encode(d[:], sum[:])
	return d
}

// timeLayout has a fixed width, so that lines sort in the order of their times.
const timeLayout = "2006-01-02T15:04:05.000000000Z07:00"

// The ends of a line:
//
//	{"v":1,"seq":7,"time":"…",…,"prev":"…","hash":"…"}
const (
	lineBegin = `{"v":`
	seqBegin  = `,"seq":`
	timeBegin = `,"time":"`
	prevBegin = `,"prev":"`
	hashBegin = `,"hash":"`
	lineEnd   = `"}`
)

// link appends to buf the line of a record that follows one with hash prev, newline
// included, and returns it with the hash of the new line. members are the encoded
// members of the record, without braces. The hash covers the line without its hash
// member, see the package comment.
func link(buf []byte, seq uint64, at time.Time, members []byte, prev digest) ([]byte, digest) {
	start := len(buf)
	buf = append(buf, lineBegin...)
	buf = strconv.AppendInt(buf, Version, 10)
	buf = append(buf, seqBegin...)
	buf = strconv.AppendUint(buf, seq, 10)
	buf = append(buf, timeBegin...)
	buf = at.AppendFormat(buf, timeLayout)
	buf = append(buf, `",`...)
	buf = append(buf, members...)
	buf = append(buf, prevBegin...)
	buf = append(buf, prev[:]...)
	buf = append(buf, lineEnd...)
	own := digestOf(buf[start:])
	buf = buf[:len(buf)-1]
	buf = append(buf, hashBegin...)
	buf = append(buf, own[:]...)
	buf = append(buf, lineEnd...)
	return append(buf, '\n'), own
}

// links are the hashes that a line contains, and its actual hash.
type links struct{ prev, hash, actual digest }

// unlink parses the end of a line, without its newline. ok is false if the line
// does not end as [link] writes it. It uses h as scratch space.
func unlink(h hash.Hash, line []byte) (l links, ok bool) {
	rest, ok := cutDigest(line, &l.hash, lineEnd)
	if !ok {
		return l, false
	}
	covered, ok := bytes.CutSuffix(rest, []byte(`"`+hashBegin))
	if !ok {
		return l, false
	}
	rest, ok = cutDigest(covered, &l.prev, "")
	if !ok || !bytes.HasSuffix(rest, []byte(prevBegin)) {
		return l, false
	}
	h.Reset()
	h.Write(covered)
	h.Write([]byte(lineEnd))
	var sum [sha256.Size]byte
	hex.Encode(l.actual[:], h.Sum(sum[:0]))
	return l, true
}

// cutDigest removes a digest and the given end from the end of line.
func cutDigest(line []byte, d *digest, end string) (rest []byte, ok bool) {
	line, ok = bytes.CutSuffix(line, []byte(end))
	if !ok || len(line) < len(d) {
		return line, false
	}
	i := len(line) - len(d)
	copy(d[:], line[i:])
	return line[:i], true
}
