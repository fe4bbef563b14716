package tipstaff

import "strings"

// Trace ties a command to a trace of another system, in the form of W3C Trace
// Context. The zero Trace is none. Only [ParseTrace] makes others, so the text
// of a Trace is always safe to repeat.
type Trace struct {
	parent string // "00-<32 hex>-<16 hex>-<2 hex>"
	state  string
}

// ParseTrace reads a caller's traceparent and tracestate. A traceparent that
// does not follow version 00 exactly is ignored together with the tracestate; a
// malformed tracestate alone is ignored alone.
func ParseTrace(traceparent, tracestate string) Trace {
	if !validTraceparent(traceparent) {
		return Trace{}
	}
	if !validTracestate(tracestate) {
		tracestate = ""
	}
	return Trace{traceparent, tracestate}
}

// Parent returns the traceparent, or "".
func (t Trace) Parent() string { return t.parent }

// State returns the tracestate, or "".
func (t Trace) State() string { return t.state }

// Equal reports whether both are the same trace.
func (t Trace) Equal(other Trace) bool { return t == other }

// Variables returns the variables that tell a program of the trace, each
// "NAME=value".
func (t Trace) Variables() []string {
	switch {
	case t.parent == "":
		return nil
	case t.state == "":
		return []string{"TRACEPARENT=" + t.parent}
	default:
		return []string{"TRACEPARENT=" + t.parent, "TRACESTATE=" + t.state}
	}
}

func validTraceparent(s string) bool {
	const form = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	if len(s) != len(form) || s[:3] != "00-" || s[35] != '-' || s[52] != '-' {
		return false
	}
	trace, span, flags := s[3:35], s[36:52], s[53:]
	return lowerHex(trace) && lowerHex(span) && lowerHex(flags) &&
		strings.Trim(trace, "0") != "" && strings.Trim(span, "0") != ""
}

func lowerHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// The limits that the specification sets for a tracestate.
const (
	maxTracestate  = 512 // bytes
	maxStateValues = 32
	maxStateText   = 256 // bytes of a key, and of a value
)

func validTracestate(s string) bool {
	if len(s) > maxTracestate {
		return false
	}
	members := strings.Split(s, ",")
	if len(members) > maxStateValues {
		return false
	}
	seen := map[string]bool{}
	for _, m := range members {
		if m = strings.Trim(m, " \t"); m == "" {
			continue // the specification allows empty ones
		}
		key, value, ok := strings.Cut(m, "=")
		if !ok || seen[key] || !stateKey(key) || !stateValue(value) {
			return false
		}
		seen[key] = true
	}
	return true
}

func stateKey(s string) bool {
	const first, rest = "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789_-*/@"
	return s != "" && len(s) <= maxStateText && strings.IndexByte(first, s[0]) >= 0 && strings.Trim(s, rest) == ""
}

func stateValue(s string) bool {
	if s == "" || len(s) > maxStateText {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return true
}
