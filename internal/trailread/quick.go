package trailread

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"tipstaff"
	"tipstaff/internal/audit"
)

// quick decodes lines as package audit writes them, several times as fast as
// encoding/json. It gives up on everything else: on blanks, on members that it
// does not know, on null, on whatever it is not sure of. What it does decode is
// what encoding/json makes of it; a fuzz test holds it to that.
type quick struct {
	text  []byte
	at    int
	gone  bool              // it has given up
	names map[string]string // strings that come again and again, to share them
}

const (
	maxShared    = 4096 // strings that are kept
	maxSharedLen = 40   // hashes, which never come again, are longer
)

// canonical reads a line into r, which is empty. It reports false if it gives
// up; then r holds anything.
func (q *quick) canonical(line []byte, r *audit.Record) bool {
	if q.names == nil || len(q.names) > maxShared {
		q.names = map[string]string{}
	}
	q.text, q.at, q.gone = line, 0, false
	q.object(func(key []byte) { q.member(key, r) })
	return !q.gone && q.at == len(q.text)
}

func (q *quick) member(key []byte, r *audit.Record) {
	switch string(key) {
	case "v":
		r.V = int(q.number())
	case "seq":
		r.Seq = q.unsigned()
	case "time":
		r.Time = q.time()
	case "event":
		r.Event = audit.Event(q.string())
	case "code":
		r.Code = tipstaff.Code(q.string())
	case "name":
		r.Name = audit.Name(q.string())
	case "who":
		q.object(func(key []byte) { q.who(key, &r.Who) })
	case "trace":
		q.object(func(key []byte) { q.trace(key, &r.Trace) })
	case "what":
		q.object(func(key []byte) { q.what(key, &r.What) })
	case "decision":
		q.object(func(key []byte) { q.decision(key, &r.Decision) })
	case "sandbox":
		q.object(func(key []byte) { q.sandbox(key, &r.Sandbox) })
	case "credentials":
		r.Credentials = q.strings()
	case "result":
		if r.Result == nil {
			r.Result = new(audit.Result)
		}
		q.object(func(key []byte) { q.result(key, r.Result) })
	case "policy":
		if r.Policy == nil {
			r.Policy = new(audit.Policy)
		}
		q.object(func(key []byte) { q.policy(key, r.Policy) })
	case "why":
		r.Why = q.string()
	case "error":
		r.Error = q.string()
	case "prev":
		r.Prev = q.string()
	case "hash":
		r.Hash = q.string()
	default:
		q.gone = true
	}
}

func (q *quick) who(key []byte, w *audit.Who) {
	switch string(key) {
	case "front":
		w.Front = q.string()
	case "principal":
		w.Principal = q.string()
	case "client":
		w.Client = q.string()
	case "agent":
		w.Agent = q.string()
	case "task":
		w.Task = q.string()
	case "session":
		w.Session = tipstaff.SessionID(q.string())
	case "call":
		w.Call = q.string()
	case "os_user":
		w.OSUser = q.string()
	default:
		q.gone = true
	}
}

func (q *quick) trace(key []byte, t *audit.Trace) {
	switch string(key) {
	case "traceparent":
		t.Traceparent = q.string()
	case "command_id":
		t.CommandID = tipstaff.RequestID(q.string())
	default:
		q.gone = true
	}
}

func (q *quick) what(key []byte, w *audit.What) {
	switch string(key) {
	case "tool":
		w.Tool = tipstaff.Tool(q.string())
	case "argv":
		w.Argv = q.strings()
	case "argv_sha256":
		w.ArgvSHA256 = q.string()
	case "line":
		w.Line = q.string()
	case "file":
		w.File = q.string()
	case "file_changed":
		w.FileChanged = q.bool()
	case "cwd":
		w.Cwd = q.string()
	case "env_names":
		w.EnvNames = q.strings()
	case "env_dropped":
		w.EnvDropped = q.strings()
	default:
		q.gone = true
	}
}

func (q *quick) decision(key []byte, d *audit.Decision) {
	switch string(key) {
	case "action":
		d.Action = q.string()
	case "rule":
		d.Rule = q.string()
	case "at":
		d.At = q.string()
	case "policy_sha256":
		d.PolicySHA256 = q.string()
	case "approval":
		if d.Approval == nil {
			d.Approval = new(audit.Approval)
		}
		q.object(func(key []byte) { q.approval(key, d.Approval) })
	default:
		q.gone = true
	}
}

func (q *quick) approval(key []byte, a *audit.Approval) {
	switch string(key) {
	case "handle":
		a.Handle = q.string()
	case "outcome":
		a.Outcome = q.string()
	case "choice":
		a.Choice = q.string()
	case "by":
		a.By = q.string()
	case "how":
		a.How = q.string()
	case "comment":
		a.Comment = q.string()
	default:
		q.gone = true
	}
}

func (q *quick) sandbox(key []byte, s *audit.Sandbox) {
	switch string(key) {
	case "tier":
		s.Tier = q.string()
	case "profile":
		s.Profile = q.string()
	case "network":
		s.Network = q.string()
	default:
		q.gone = true
	}
}

func (q *quick) result(key []byte, r *audit.Result) {
	switch string(key) {
	case "cause":
		r.Cause = q.string()
	case "exit_code":
		r.ExitCode = int(q.number())
	case "signal":
		r.Signal = q.string()
	case "duration_ms":
		r.DurationMS = q.number()
	case "stdout_bytes":
		r.StdoutBytes = q.number()
	case "stderr_bytes":
		r.StderrBytes = q.number()
	case "truncated":
		r.Truncated = q.bool()
	case "recording":
		r.Recording = q.string()
	case "recording_sha256":
		r.RecordingSHA256 = q.string()
	case "violations":
		r.Violations = nil
		q.list(func() {
			r.Violations = append(r.Violations, audit.Violation{})
			q.object(func(key []byte) { q.violation(key, &r.Violations[len(r.Violations)-1]) })
		})
	case "used":
		r.Used = nil
		q.list(func() {
			r.Used = append(r.Used, audit.CredentialUse{})
			q.object(func(key []byte) { q.use(key, &r.Used[len(r.Used)-1]) })
		})
	default:
		q.gone = true
	}
}

func (q *quick) violation(key []byte, v *audit.Violation) {
	switch string(key) {
	case "path":
		v.Path = q.string()
	case "why":
		v.Why = q.string()
	case "aside":
		v.Aside = q.string()
	case "fault":
		v.Fault = q.string()
	case "ended":
		v.Ended = q.bool()
	default:
		q.gone = true
	}
}

func (q *quick) use(key []byte, u *audit.CredentialUse) {
	switch string(key) {
	case "credential":
		u.Credential = q.string()
	case "given":
		u.Given = int(q.number())
	case "refused":
		u.Refused = int(q.number())
	default:
		q.gone = true
	}
}

func (q *quick) policy(key []byte, p *audit.Policy) {
	switch string(key) {
	case "outcome":
		p.Outcome = q.string()
	case "trigger":
		p.Trigger = q.string()
	case "file":
		p.File = q.string()
	case "sha256":
		p.SHA256 = q.string()
	case "old_sha256":
		p.OldSHA256 = q.string()
	case "programs":
		p.Programs = int(q.number())
	case "rules":
		p.Rules = int(q.number())
	case "presets":
		p.Presets = int(q.number())
	case "doubts":
		p.Doubts = int(q.number())
	default:
		q.gone = true
	}
}

// object calls member for each name, when its value is next.
func (q *quick) object(member func(key []byte)) {
	if !q.skip('{') || q.skip('}') { // an empty one has no reader here
		q.gone = true
	}
	for !q.gone {
		key, escapes := q.token()
		if escapes || !q.skip(':') {
			q.gone = true
		}
		if q.gone {
			return
		}
		member(key[1 : len(key)-1])
		if q.skip('}') {
			return
		}
		if !q.skip(',') {
			q.gone = true
		}
	}
}

func (q *quick) strings() []string {
	var list []string
	if q.list(func() { list = append(list, q.string()) }); q.gone {
		return nil
	}
	return list
}

// list reads an array that is not empty.
func (q *quick) list(item func()) {
	if !q.skip('[') || q.skip(']') {
		q.gone = true
	}
	for !q.gone {
		item()
		if q.skip(']') {
			return
		}
		if !q.skip(',') {
			q.gone = true
		}
	}
}

// skip passes over c if it is next.
func (q *quick) skip(c byte) bool {
	if q.at < len(q.text) && q.text[q.at] == c {
		q.at++
		return true
	}
	return false
}

func (q *quick) string() string {
	token, escapes := q.token()
	if q.gone {
		return ""
	}
	if escapes {
		var s string
		if json.Unmarshal(token, &s) != nil {
			q.gone = true
		}
		return s
	}
	token = token[1 : len(token)-1]
	if len(token) > maxSharedLen {
		return string(token)
	}
	if s, known := q.names[string(token)]; known {
		return s
	}
	s := string(token)
	if len(q.names) <= maxShared {
		q.names[s] = s
	}
	return s
}

// token passes over a string and returns it with its quotation marks.
func (q *quick) token() (token []byte, escapes bool) {
	begin := q.at
	if !q.skip('"') {
		q.gone = true
		return nil, false
	}
	ascii := true
	for ; q.at < len(q.text); q.at++ {
		switch c := q.text[q.at]; {
		case c == '"':
			q.at++
			token = q.text[begin:q.at]
			q.gone = q.gone || !ascii && !utf8.Valid(token)
			return token, escapes
		case c == '\\':
			escapes = true
			q.at++
		case c < ' ':
			q.gone = true
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	q.gone = true
	return nil, false
}

// number reads an integer of at most 18 digits, so that it fits everywhere.
func (q *quick) number() int64 {
	begin := q.at
	_ = q.skip('-')
	digits := q.at
	for q.at < len(q.text) && q.text[q.at] >= '0' && q.text[q.at] <= '9' {
		q.at++
	}
	n, err := strconv.ParseInt(string(q.text[begin:q.at]), 10, 64)
	size := q.at - digits
	if err != nil || size > 18 || size > 1 && q.text[digits] == '0' {
		q.gone = true
	}
	return n
}

// unsigned reads a number that is not negative.
func (q *quick) unsigned() uint64 {
	n := q.number()
	if n < 0 {
		q.gone = true
		return 0
	}
	return uint64(n)
}

func (q *quick) bool() bool {
	rest := q.text[q.at:]
	if bytes.HasPrefix(rest, []byte("true")) {
		q.at += len("true")
		return true
	}
	q.gone = q.gone || !bytes.HasPrefix(rest, []byte("false"))
	q.at += len("false")
	return false
}

func (q *quick) time() time.Time {
	token, escapes := q.token()
	var t time.Time
	if q.gone || escapes || t.UnmarshalText(token[1:len(token)-1]) != nil {
		q.gone = true
	}
	return t
}
