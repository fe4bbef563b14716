package sink

import (
	"encoding/json"
	"fmt"
	"time"

	"tipstaff/internal/audit/events"
	"tipstaff/internal/strictjson"
)

// Message is what a sink delivers.
type Message struct {
	events.Event
	// Body is one line of JSON without its newline: a record as it is on the
	// trail, or a checkpoint or a loss as an object with the member event.
	Body []byte
	// At is when the message was made; a record also has its own time.
	At time.Time
}

// Events that are not records.
const (
	eventCheckpoint = "checkpoint"
	eventLost       = "sink.lost"
)

func newMessage(e events.Event, trail string, now time.Time) Message {
	m := Message{Event: e, Body: e.Data, At: now.UTC()}
	var body any
	switch e.Kind {
	case events.Checkpoint:
		body = struct {
			Event string `json:"event"`
			Trail string `json:"trail"`
			Note  string `json:"note"`
		}{eventCheckpoint, e.Trail, string(e.Data)}
	case events.Lost:
		m.Trail = trail
		body = struct {
			Event string    `json:"event"`
			Time  time.Time `json:"time"`
			Trail string    `json:"trail"`
			Count uint64    `json:"count"`
			From  uint64    `json:"from_seq,omitempty"`
			To    uint64    `json:"to_seq,omitempty"`
			Why   string    `json:"why"`
		}{eventLost, m.At, trail, e.Count, e.From, e.To, lossText(e)}
	default:
		return m
	}
	if data, err := json.Marshal(body); err == nil {
		m.Body = data
	}
	return m
}

func lossText(e events.Event) string {
	if e.From == 0 {
		return fmt.Sprintf("lost %d checkpoints", e.Count)
	}
	return fmt.Sprintf("lost %d records, from seq %d to %d; they are on the trail", e.Count, e.From, e.To)
}

// severity is a syslog severity; others are derived from it.
type severity int

const (
	warning       severity = 4
	notice        severity = 5
	informational severity = 6
)

// facts are the properties that a sink sends in addition to the line.
type facts struct {
	time     time.Time
	event    string
	code     string
	name     string
	session  string
	command  string
	trace    string // traceparent
	severity severity
}

// facts reads them from the body.
func (m Message) facts() facts {
	var r struct {
		Time  time.Time `json:"time"`
		Event string    `json:"event"`
		Code  string    `json:"code"`
		Name  string    `json:"name"`
		Who   struct {
			Session string `json:"session"`
		} `json:"who"`
		Trace struct {
			Traceparent string `json:"traceparent"`
			CommandID   string `json:"command_id"`
		} `json:"trace"`
	}
	_ = strictjson.Unmarshal(m.Body, &r) // the server's own line; unreadable parts are left out
	if r.Time.IsZero() {
		r.Time = m.At
	}
	return facts{
		time: r.Time, event: r.Event, code: r.Code, name: r.Name,
		session: r.Who.Session, command: r.Trace.CommandID, trace: r.Trace.Traceparent,
		severity: severityOf(r.Event, r.Name),
	}
}

// severityOf: a refusal by policy, or a loss, needs a person's attention; a
// failure is only notable.
func severityOf(event, name string) severity {
	switch {
	case event == eventLost, name == "terminal:security:violation":
		return warning
	case name == "terminal:command:failed":
		return notice
	}
	return informational
}
