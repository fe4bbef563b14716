package script

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"

	"tipstaff"
	"tipstaff/internal/command/scan"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
	"tipstaff/internal/script/ipc"
)

// A person who allows a command of a script is shown the command's position and what
// its input is. Both are found here and not in the script process, which could say
// anything: the place is looked up in the text of the script, and what the input is, in
// the descriptor. What the person was shown of a file or a here-document is what the
// command gets, in a file of its own that nobody can change.

// Bounds of what is read of a command's input for a person.
const (
	mostDocument = 64 << 10 // of a here-document; a question is shorter
	mostFile     = 16 << 20
)

// statement gives a command's position, and puts into its streams the input that a
// person is shown.
func (r *scriptRun) statement(m ipc.Message, in *os.File, to *run.Streams) (policy.Statement, error) {
	script := r.grant.Request()
	sum := sha256.Sum256([]byte(script.Script))
	out := policy.Statement{Script: hex.EncodeToString(sum[:])}
	parsed, err := scan.Parse(script.Script)
	if err != nil {
		return out, err
	}
	var known bool
	out.Statement, known, _ = parsed.Statement(m.Line, m.Column)
	kind := kindOf(in)
	var text []byte
	switch from := &out.Input; {
	case sameFile(in, r.stdin):
		*from = policy.ScriptInput(script)
		return out, nil
	case kind == ofFile:
		if text, err = restOf(in, mostFile); err == nil {
			path, _ := r.cell.Confined.Private(int(in.Fd()))
			content := sha256.Sum256(text)
			*from = scan.Input{From: scan.FromFile, Name: path, SHA256: hex.EncodeToString(content[:])}
		}
	case kind == ofNothing:
		*from = scan.Input{From: scan.FromNothing}
		return out, nil
	case kind == ofPipe && (from.From == scan.FromPipeline || from.From == scan.FromWritten):
		return out, nil
	case kind == ofPipe && from.From == scan.FromText:
		if text = []byte(from.Text); !known {
			text, err = readWhole(in, mostDocument)
			from.Text = string(text)
		}
	default:
		err = errElsewhere
	}
	if err == nil {
		to.In, err = sealed(text)
	}
	if err != nil {
		return out, unseen(err)
	}
	return out, nil
}

// What a descriptor is.
type inputKind int

const (
	ofOther inputKind = iota
	ofNothing
	ofFile
	ofPipe
)

var errElsewhere = errors.New("its input comes from a place that the text does not show")

// sameFile reports whether an open file is the one that is known; nil is none.
func sameFile(f *os.File, known fs.FileInfo) bool {
	st, err := f.Stat()
	return err == nil && known != nil && os.SameFile(st, known)
}

// unseen refuses a command of which a person could not be shown the input.
func unseen(err error) error {
	return &tipstaff.Error{
		Code: tipstaff.ApprovalDenied, Rule: "approval/input", Err: err,
		Msg:  "A person has to allow this command, and what it would read at its standard input cannot be shown to one, so it was not run.",
		Hint: "Give it its input in the same statement: by a pipeline, a here-document, a file of at most 16 MiB, or </dev/null.",
	}
}
