package run

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tipstaff"
	"tipstaff/internal/policy"
)

// explainEnd adds to a result what its exit code and its last words mean, and
// what was ended after it. It says nothing where it does not know. left is how
// many processes the command has left behind.
func explainEnd(g *policy.Grant, r *tipstaff.Result, left int) {
	text := slices.Concat(endOf(r.Stderr), endOf(r.Stdout))
	if g.Request().Parent == "" {
		Blame(r, r.Unreached, text)
	}
	switch {
	case len(g.Argv()) == 0: // its commands have reported what their exit codes mean
		r.Notes = append(r.Notes, explainUnfound(g, r, text)...)
	case r.Cause == tipstaff.Exited:
		r.Notes = append(r.Notes, explainExit(g, r, text)...)
	}
	if g.Request().Terminal == nil && (r.Cause == tipstaff.Exited && r.ExitCode != 0 || r.Cause == tipstaff.TimedOut || len(r.Commands) > 0) {
		r.Notes = append(r.Notes, explainNoPerson(text)...)
	}
	if r.WaitedForInput {
		r.Notes = append(r.Notes, WaitsForInput(g.Request()))
	}
	switch {
	case r.Cause != tipstaff.Exited && r.Cause != tipstaff.Signalled:
	case left == 1:
		r.Notes = append(r.Notes, "A process that the command had left behind was ended: nothing outlives its command.")
	case left > 1:
		r.Notes = append(r.Notes, fmt.Sprintf("%d processes that the command had left behind were ended: nothing outlives its command.", left))
	}
}

// NothingOutlives ends the note on processes that a command had left behind. Fronts add
// what keeps one running.
const NothingOutlives = "nothing outlives its command."

// WaitsForInput says of a command that it waits for input, and what to do about
// it.
func WaitsForInput(req *tipstaff.Request) string {
	at, do := "standard input", "what it waits for goes into input, or an option answers in its place (--yes, --batch, --no-input)"
	if req.Terminal != nil {
		at = "terminal"
	}
	if req.Background {
		do = "write_input gives it what it waits for, or ends its input with close"
	}
	return fmt.Sprintf("It waits for input at its %s: %s.", at, do)
}

// explainExit says what an exit code means that is not the program's own word
// for failure.
func explainExit(g *policy.Grant, r *tipstaff.Result, text []byte) []string {
	switch code := r.ExitCode; {
	case code == 127 || code == 126:
		if g.Request().Parent != "" {
			return nil // its script has its output
		}
		return []string{unfound(g, code, text)}
	case code > 128 && deadly[code-128] != "" && filepath.Base(g.Argv()[0]) != "git": // git exits with 128 and more
		return []string{fmt.Sprintf("%d is 128+%d: a program that it ran was ended by %s, which tipstaff did not send.", code, code-128, deadly[code-128])}
	case code == 1 && r.Stderr.Total() == 0:
		return explainNo(g.Argv())
	}
	return nil
}

// explainUnfound explains the exit codes 126 and 127 of the commands of a script: those
// that ran themselves.
func explainUnfound(g *policy.Grant, r *tipstaff.Result, text []byte) (notes []string) {
	for _, c := range r.Commands {
		if why := unfound(g, c.ExitCode, text); c.Msg == "" && why != "" && !slices.Contains(notes, why) {
			notes = append(notes, why)
		}
	}
	return notes
}

// unfound explains an exit code by which a program reports another one that it could not
// start; "" for other codes.
func unfound(g *policy.Grant, code int, text []byte) string {
	switch code {
	case 127:
		return explainMissing(g, text)
	case 126:
		return explainBarred(text)
	}
	return ""
}

// deadly are the signals by which programs die, by the numbers that all
// architectures of Linux share. SIGHUP is missing because 129 is what many
// programs exit with when their options are wrong.
var deadly = map[int]string{
	2: "SIGINT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM",
}

// answersNo are programs that exit with 1 when the answer is no, with what that
// means.
var answersNo = map[string]string{
	"grep": noMatch, "egrep": noMatch, "fgrep": noMatch, "zgrep": noMatch, "rg": noMatch, "ag": noMatch, "pgrep": noMatch, "git grep": noMatch,
	"diff": theyDiffer, "cmp": theyDiffer, "git diff": theyDiffer,
	"test": "the expression is false", "[": "the expression is false",
}

// NoError ends the note on an exit code by which a program only answers no.
const NoError = "; that is no error."

const (
	noMatch    = "nothing matched"
	theyDiffer = "the two differ"
)

// explainNo explains the exit code 1 of a program that only says no.
func explainNo(argv []string) []string {
	name := filepath.Base(argv[0])
	if name == "git" && len(argv) > 1 {
		name += " " + argv[1]
	}
	if means := answersNo[name]; means != "" {
		return []string{fmt.Sprintf("%s exits with 1 when %s%s", name, means, NoError)}
	}
	return nil
}

// notFound matches the messages of shells, env and make about a program that is
// not there, and barred those about one that may not be run.
var (
	notFound = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:([^\s:'"‘’]+): (?:command )?not found|command not found: (\S+)|env: ['‘]([^'’\n]+)['’]: No such file or directory|^make(?:\[\d+\])?: ([^\s:]+): No such file or directory)\s*$`)
	})
	barred = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:([^\s:'"‘’]+): Permission denied|env: ['‘]([^'’\n]+)['’]: Permission denied)\s*$`)
	})
)

// named returns the program that the last match of a pattern names, "" if there
// is none.
func named(pattern *regexp.Regexp, text []byte) string {
	all := pattern.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	for _, group := range all[len(all)-1][1:] {
		if len(group) > 0 {
			return string(group)
		}
	}
	return ""
}

// explainMissing says which program a command did not find, and which one it
// may have meant.
func explainMissing(g *policy.Grant, message []byte) string {
	name := named(notFound(), message)
	if name == "" {
		return "127 usually means that the program could not find another one that it wanted to run."
	}
	why := fmt.Sprintf("127 usually means that a program was not found, here perhaps %.100q.", name)
	if strings.ContainsRune(name, '/') {
		return why
	}
	if near := policy.Meant(name, onPath(g.Env()), func(string) bool { return true }); near != "" {
		why += fmt.Sprintf(" Did you mean %q?", near)
	}
	return why
}

func explainBarred(message []byte) string {
	if name := named(barred(), message); name != "" {
		return fmt.Sprintf("126 usually means that a program may not be executed, here perhaps %.100q. A script needs the mode for it (chmod +x), or is run by its interpreter.", name)
	}
	return "126 usually means that the program found another one that it may not execute."
}

// Bounds of the search for a name that was probably meant.
const (
	mostPlaces   = 32
	mostPrograms = 20_000
)

// onPath lists the names in the directories of a command's PATH.
func onPath(env []string) []string {
	var names []string
	for _, kv := range env {
		list, found := strings.CutPrefix(kv, "PATH=")
		if !found {
			continue
		}
		places := filepath.SplitList(list)
		for _, dir := range places[:min(len(places), mostPlaces)] {
			entries, err := os.ReadDir(dir)
			if err != nil || len(names)+len(entries) > mostPrograms {
				continue
			}
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// complaint is what programs say when there is no person, and what to do.
type complaint struct{ words, advice string }

var complaints = []complaint{
	{"EOF when reading a line", "It may have asked for input, and there was none: give its answers in input, or use an option that answers for you."},
	{"not a tty", WantsTerminal},
	{"not a TTY", WantsTerminal},
	{"not a terminal", WantsTerminal},
	{"must be run from a terminal", WantsTerminal},
	{"must be connected to a terminal", WantsTerminal},
	{"Error opening terminal", WantsTerminal},
	{"/dev/tty: No such device or address", WantsTerminal},
	{"could not read Username for", "git may have asked for a name and a password, and there is no person to answer: ask the operator for credentials."},
}

// WantsTerminal says of a program that it failed without a terminal. A front that
// can give commands one adds how.
const WantsTerminal = "It may want a terminal, and there is none: look for an option that does without (--yes, --batch, --no-interactive), or give its answers in input."

// explainNoPerson explains the last words of a program that wanted a person or
// a terminal.
func explainNoPerson(message []byte) []string {
	for _, c := range complaints {
		if strings.Contains(string(message), c.words) {
			return []string{c.advice}
		}
	}
	return nil
}
