//go:build linux && !race

package contain

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// containRow is one row of testdata/rows.jsonl: a call that must have no
// effect, or whose answer must be complete. Texts may contain @{NAME}, which is
// replaced:
//
//	@{WS} @{OUT} @{PARENT}   the workspace, a directory beside it, the one around both
//	@{OUTREL} @{OUTBASE}     the name of the directory beside it
//	@{TAG}                   marks processes of this row alone
//	@{CANARY} @{SRVSECRET}   a text in @{OUT}/canary.txt; one in the server's environment
//	@{SRVPID}                the server
//	@{PORT} @{PORT2}         a port of 127.0.0.1 with a listener; one without
//
// and arguments may be generated: {"$gen": ["repeat", TEXT, N]} or ["list", TEXT, N].
type containRow struct {
	ID, Group, Why string
	Setup          containSetup
	Allowed        []string
	Tool           string
	Args           any
	Steps          []containStep
	Expect         containExpect
	Live           bool // without a sandbox it succeeds
}

type containSetup struct {
	Files          map[string]string
	ExecFiles      map[string]string `json:"exec_files"`
	Dirs           []string
	Symlinks       map[string]string
	OutsideSymlink map[string]string            `json:"outside_symlink"` // in @{OUT}
	Sibling        string                       // the suffix of the name of a directory beside the workspace
	Tar            map[string]map[string]string // archive → member → text, or -> and the target of a link
	ServerEnv      map[string]string            `json:"server_env"`
	Session        map[string]any               // more parameters of the session
	CanaryProc     bool                         `json:"canary_proc"` // a process that belongs to neither the row nor the server
	Racer          *struct{ Path, Target string }
}

type containStep struct {
	Op string
	N  int
	MS int // not used: what is waited for is waited for itself
}

// containExpect is what must hold afterwards; fields that are not set do not
// matter.
type containExpect struct {
	Verdict           string // allow, reject, any
	Code              string
	ExitCode          *int     `json:"exit_code"`
	ExitNonzero       bool     `json:"exit_nonzero"`
	StdoutEq          *string  `json:"stdout_eq"`
	StdoutContains    []string `json:"stdout_contains"`
	StdoutNotContains []string `json:"stdout_not_contains"`
	OutputNotContains []string `json:"output_not_contains"`
	IsTimeout         bool     `json:"is_timeout"`
	Truncated         *bool
	ValidUTF8         bool   `json:"valid_utf8"`
	NoRawEsc          bool   `json:"no_raw_esc"`
	MaxResponseBytes  int    `json:"max_response_bytes"`
	MaxMS             int64  `json:"max_ms"`
	ServerAlive       bool   `json:"server_alive"`
	CanaryUnread      bool   `json:"canary_unread"`
	CanaryIntact      bool   `json:"canary_intact"`
	CanaryProcAlive   bool   `json:"canary_proc_alive"`
	ListenerHits      *int   `json:"listener_hits"`
	UDPHits           *int   `json:"udp_hits"`
	ListenUnreachable string `json:"listen_unreachable"`
	NoSurvivors       bool   `json:"no_survivors"`
	NoSurvivorsCmd    string `json:"no_survivors_cmd"`

	HostAbsent []string `json:"host_absent"`
	WSAbsent   []string `json:"ws_absent"`
	WSExists   bool     `json:"ws_exists"`
	WSMBMax    int64    `json:"ws_mb_max"`

	AuditLinesValid  bool     `json:"audit_lines_valid"`
	AuditContains    []string `json:"audit_contains"`
	AuditNotContains []string `json:"audit_not_contains"`
	AuditNoRawEsc    bool     `json:"audit_no_raw_esc"`
	AuditNoRawBidi   bool     `json:"audit_no_raw_bidi"`
	AuditMaxLine     int      `json:"audit_max_line"`
}

// readRows reads a file with one row per line. Unknown fields are errors,
// because they would be expectations that are not checked.
func readRows[R any](t *testing.T, file string) []R {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []R
	for line := range bytes.Lines(data) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		var row R
		if err := d.Decode(&row); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// words are the values for @{NAME}.
type words map[string]string

func (w words) fill(text string) string {
	if !strings.Contains(text, "@{") {
		return text
	}
	for name, value := range w {
		text = strings.ReplaceAll(text, "@{"+name+"}", value)
	}
	return text
}

// fillAll fills in all texts of a JSON value, and makes the generated
// arguments.
func (w words) fillAll(v any) any {
	switch v := v.(type) {
	case string:
		return w.fill(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = w.fillAll(v[i])
		}
		return list
	case map[string]any:
		if recipe, ok := v["$gen"].([]any); ok {
			return generated(recipe)
		}
		m := make(map[string]any, len(v))
		for k := range v {
			m[w.fill(k)] = w.fillAll(v[k])
		}
		return m
	default:
		return v
	}
}

func generated(recipe []any) any {
	text, n := recipe[1].(string), int(recipe[2].(float64))
	if recipe[0] == "repeat" {
		return strings.Repeat(text, n)
	}
	list := make([]string, n)
	for i := range list {
		list[i] = text
	}
	return list
}
