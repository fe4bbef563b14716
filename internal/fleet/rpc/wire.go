package rpc

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/strictjson"
)

// What is said on the wire. A gateway sends a runner, at the subject of the verb:
//
//	call    length of the statement (4 bytes), statement, request as JSON
//	credit  token, number that is wanted next (8), end of the credit (8), again (1)
//	cancel  token, whether the caller may come back (1)
//	answer  token, number of the question (8), reply as JSON
//
// Only call is signed: it carries the token, 128 random bits that only the two know
// and that the other verbs show. A runner sends to the subject of the token a kind
// (1 byte), a number (8), and what belongs to it. Only answers and questions are
// numbered, without gaps, and need credit; of the others each may be lost.
const (
	verbCall   = "call"
	verbCredit = "credit"
	verbCancel = "cancel"
	verbAnswer = "answer"
)

// The kinds of frames.
const (
	frameTaken    = '+' // the call has arrived, as each other frame but the next says, too
	frameRefused  = '-' // the call was not taken: an error
	frameAlive    = 'h' // the number is the one that comes next
	frameProgress = 'p'
	frameHeard    = 'k' // the answer to the question with the number has arrived

	frameQuestion = 'q' // numbered
	framePart     = 'a' // numbered: a part of the answer
	frameEnd      = 'z' // numbered: its last part
	frameError    = 'e' // numbered: the error instead
)

func numbered(kind byte) bool {
	return kind == frameQuestion || kind == framePart || kind == frameEnd || kind == frameError
}

const (
	frameHeader = 9
	// MaxFrame is how much of an answer one frame carries, in bytes.
	MaxFrame = 32 << 10
	// Credits is how many numbered frames may be under way for one call.
	Credits = 64
	// version is the version of requests.
	version   = 1
	tokenSize = 26
)

// request is the message that starts or joins a call.
type request struct {
	Version int    `json:"v"`
	Token   string `json:"token"`
	Call    Call   `json:"call"`
}

// enclose puts a statement in front of what it is about.
func enclose(statement, body []byte) []byte {
	out := make([]byte, 0, 4+len(statement)+len(body))
	out = binary.BigEndian.AppendUint32(out, uint32(len(statement)))
	return append(append(out, statement...), body...)
}

func disclose(data []byte) (statement, body []byte, err error) {
	if len(data) < 4 {
		return nil, nil, errMalformed
	}
	n := binary.BigEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		return nil, nil, errMalformed
	}
	return data[4 : 4+n], data[4+n:], nil
}

var errMalformed = errors.New("a message without the form of its verb")

func frame(kind byte, number uint64, payload []byte) []byte {
	out := make([]byte, 0, frameHeader+len(payload))
	out = binary.BigEndian.AppendUint64(append(out, kind), number)
	return append(out, payload...)
}

func readFrame(data []byte) (kind byte, number uint64, payload []byte, err error) {
	if len(data) < frameHeader || len(data) > frameHeader+2*MaxFrame {
		return 0, 0, nil, errMalformed
	}
	return data[0], binary.BigEndian.Uint64(data[1:]), data[frameHeader:], nil
}

// credit is the right to send frames.
type credit struct {
	token      string
	want, upto uint64
	resend     bool // frames were lost: send again from want on
}

func (c credit) encode() []byte {
	out := binary.BigEndian.AppendUint64(append(make([]byte, 0, tokenSize+17), c.token...), c.want)
	out = binary.BigEndian.AppendUint64(out, c.upto)
	if c.resend {
		return append(out, 1)
	}
	return append(out, 0)
}

func readCredit(data []byte) (credit, error) {
	if len(data) != tokenSize+17 {
		return credit{}, errMalformed
	}
	n := data[tokenSize:]
	return credit{string(data[:tokenSize]), binary.BigEndian.Uint64(n), binary.BigEndian.Uint64(n[8:]), n[16] == 1}, nil
}

// reply is a person's answer on its way to the runner, or why there is none.
type reply struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// wireError is an error on its way to the caller: what is for the operator stays
// where it happened.
type wireError struct {
	Code    tipstaff.Code  `json:"code"`
	Rule    string         `json:"rule,omitempty"`
	Msg     string         `json:"msg"`
	Hint    string         `json:"hint,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// maxErrorText bounds the texts of an error, so that it fits into a frame.
const maxErrorText = 8 << 10

func encodeError(err error) []byte {
	e := tipstaff.AsError(err)
	w := wireError{e.Code, e.Rule, e.Msg[:min(len(e.Msg), maxErrorText)], e.Hint[:min(len(e.Hint), maxErrorText)], e.Details}
	data, fault := json.Marshal(w)
	if fault != nil || len(data) > MaxFrame {
		w.Details = nil
		data, _ = json.Marshal(w) // texts alone
	}
	return data
}

func decodeError(data []byte, from natsx.Address) error {
	var w wireError
	if err := strictjson.Unmarshal(data, &w); err != nil || w.Code == "" {
		return fmt.Errorf("the runner %s has answered with an error that cannot be read", from)
	}
	return &tipstaff.Error{Code: w.Code, Rule: w.Rule, Msg: w.Msg, Hint: w.Hint, Details: w.Details}
}
