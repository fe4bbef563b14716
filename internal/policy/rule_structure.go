package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tipstaff"
)

// The limits of every command of both families (contract B10). Linux accepts no
// argument longer than MAX_ARG_STRLEN, 131,072 bytes including the final NUL.
const (
	maxArgumentBytes = 131_071
	maxArguments     = 4_096
	maxTotalBytes    = 1 << 20
	// A script's words come from its expansions, as wc -l **/*.go: what bounds them is
	// what Linux takes, 2 MiB with a pointer for each word.
	maxScriptBytes = 2 << 20
	perPointer     = 8
)

// tooMany tells whether a command has more words than are judged.
func tooMany(req *tipstaff.Request, argv []string) bool {
	return len(argv)-1 > maxArguments && (req.Parent == "" || len(argv)*perPointer > maxScriptBytes)
}

// structure refuses words that no program could be given, or that could not be
// recorded unchanged.
type structure struct{}

// Judge implements [Rule]: it refuses what no program could be started with,
// and bounds what the other rules have to look at.
func (structure) Judge(req *tipstaff.Request, _ World, d *Draft) []Finding {
	if d.Argv == nil {
		return nil
	}
	if len(d.Argv) == 0 || d.Argv[0] == "" {
		return []Finding{{
			Rule: "structure/name",
			Code: tipstaff.InvalidParameters,
			Msg:  "the command has no name: its first word is empty",
			Hint: "Give the name of a program.",
		}}
	}
	if n := len(d.Argv) - 1; tooMany(req, d.Argv) {
		return []Finding{tooMuch("structure/count", fmt.Sprintf("there are %d arguments, at most %d are allowed", n, maxArguments))}
	}
	var found []Finding
	total, most := 0, maxTotalBytes
	if req.Parent != "" {
		total, most = perPointer*len(d.Argv), maxScriptBytes
	}
	for i, word := range d.Argv {
		total += len(word)
		if f, bad := judgeWord(i-1, word); bad && len(found) < maxFindings {
			found = append(found, f)
		}
	}
	if total > most {
		found = append(found, tooMuch("structure/total", fmt.Sprintf("the command has %d bytes in all, at most %d are allowed", total, most)))
	}
	return found
}

// judgeWord checks one word; index -1 is the command itself.
func judgeWord(index int, word string) (Finding, bool) {
	f := Finding{Code: tipstaff.UnsafeArguments, Details: map[string]any{"index": index}}
	switch {
	case len(word) > maxArgumentBytes:
		f = tooMuch("structure/length", fmt.Sprintf("%s has %d bytes, at most %d are allowed", position(index), len(word), maxArgumentBytes))
		f.Details = map[string]any{"index": index}
	case strings.IndexByte(word, 0) >= 0:
		f.Rule, f.Msg, f.Hint = "structure/nul", position(index)+" contains a NUL character", "No program can be given one. Write such data to a file, or send it with input."
	case !utf8.ValidString(word):
		f.Rule, f.Msg, f.Hint = "structure/encoding", position(index)+" is not valid UTF-8", "Send text as UTF-8, and other data in a file or with input."
	default:
		return f, false
	}
	f.Details["rule"] = strings.TrimPrefix(f.Rule, "structure/")
	return f, true
}

func tooMuch(rule, msg string) Finding {
	return Finding{Rule: rule, Code: tipstaff.InvalidParameters, Msg: msg, Hint: "Put long text in a file, or send it with input, and do the work in several calls."}
}

// position names a word of a command as callers count: the arguments from 0.
func position(index int) string {
	if index < 0 {
		return "the command's name"
	}
	return fmt.Sprintf("args[%d]", index)
}

// maxFindings bounds the findings of one rule about one request.
const maxFindings = 8
