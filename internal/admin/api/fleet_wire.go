package api

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"tipstaff/internal/strictjson"
)

// What operators and the members of a fleet say to each other over the engine: the
// same requests and replies as over a socket. A request is one message: a statement of
// the operator's key, and what it is about. A reply comes in parts, because the engine
// bounds messages; each part names the reply by its number, and itself.

// asked is what a statement is about.
type asked struct {
	Token   string  `json:"token"` // where replies go
	Request request `json:"request"`
}

const (
	tokenSize = 26
	// maxWish bounds a request.
	maxWish = 64 << 10
	// partBytes is how much of a reply a part carries.
	partBytes = 256 << 10
	// mostOfSmall bounds the parts of a reply where the engine takes small messages only.
	mostOfSmall = 8 << 10
	partHeader  = 16
)

var errForm = errors.New("a message without the form of a request")

// enclose puts a statement in front of what it is about.
func enclose(statement, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(statement)+len(body)), uint32(len(statement)))
	return append(append(out, statement...), body...)
}

func disclose(data []byte) (statement, body []byte, err error) {
	if len(data) < 4 || len(data) > maxWish {
		return nil, nil, errForm
	}
	n := binary.BigEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		return nil, nil, errForm
	}
	return data[4 : 4+n], data[4+n:], nil
}

// parts writes a reply; most bounds a message.
func parts(r reply, most int64) ([][]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	size := partBytes
	if most > 0 {
		size = min(size, max(1, int(most)-partHeader))
	}
	count := max(1, (len(data)+size-1)/size)
	if len(data) > maxReply || count > mostOfSmall {
		return parts(reply{Error: "the answer is too long to be sent", Number: r.Number}, most)
	}
	var out [][]byte
	for i := range count {
		b := binary.BigEndian.AppendUint64(make([]byte, 0, partHeader+size), r.Number)
		b = binary.BigEndian.AppendUint32(b, uint32(i))
		b = binary.BigEndian.AppendUint32(b, uint32(count))
		out = append(out, append(b, data[i*size:min(len(data), (i+1)*size)]...))
	}
	return out, nil
}

// gathered is a reply of which some parts have come.
type gathered struct {
	number uint64
	parts  [][]byte
	have   int
	bytes  int
}

// add takes a part, and returns the reply when it is whole. Parts of an earlier reply
// count for nothing, those of a later one begin it.
func (g *gathered) add(data []byte) (r reply, whole bool, err error) {
	if len(data) < partHeader {
		return reply{}, false, errForm
	}
	number, i, count := binary.BigEndian.Uint64(data), binary.BigEndian.Uint32(data[8:]), binary.BigEndian.Uint32(data[12:])
	if i >= count || count > mostOfSmall {
		return reply{}, false, errForm
	}
	if g.parts == nil || number != g.number || int(count) != len(g.parts) {
		*g = gathered{number: number, parts: make([][]byte, count)}
	}
	if g.parts[i] == nil {
		g.parts[i] = data[partHeader:]
		g.have++
		g.bytes += len(g.parts[i])
	}
	if g.bytes > maxReply {
		*g = gathered{}
		return reply{}, false, errForm
	}
	if g.have < len(g.parts) {
		return reply{}, false, nil
	}
	var text []byte
	for _, p := range g.parts {
		text = append(text, p...)
	}
	*g = gathered{}
	if err := strictjson.Unmarshal(text, &r); err != nil {
		return reply{}, false, err
	}
	r.Number = number
	return r, true, nil
}
