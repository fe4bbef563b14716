package hook

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/paths"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/facts"
)

// narrow adds what the machine and the client have to say to a decision.
func (h *Hook) narrow(w *policy.ScriptDecision, a Asked) {
	h.outside(w, a)
	h.otherPrograms(w)
	if a.Input.Unsandbox && w.Effect() == policy.Allow {
		w.Narrow(ask("hook/sandbox", "the call switches the client's own sandbox off"))
	}
	if w.Effect() == policy.Ask && !hasPerson(a.Mode) {
		f := w.Deciding()
		f.Effect, f.Code = policy.Deny, tipstaff.ApprovalRequired
		f.Msg += "; a person would have to be asked, and in this mode the client asks none"
		w.Narrow(f)
	}
}

func ask(rule, msg string) policy.Finding {
	return policy.Finding{Rule: rule, Effect: policy.Ask, Code: tipstaff.ApprovalRequired, Msg: msg}
}

// hasPerson reports whether a client asks a person in a mode. Other modes, also
// those that are not known yet, answer such questions themselves.
func hasPerson(mode string) bool {
	return mode == "default" || mode == "acceptEdits" || mode == "plan"
}

// outside leaves files outside of the project to a person: no sandbox hides them
// from the client's shell. So it does with files that are written and whose path
// has a name with a dot in front, such as .git/hooks: they steer other programs.
func (h *Hook) outside(w *policy.ScriptDecision, a Asked) {
	project := canonical(cmp.Or(h.Project, a.Dir))
	if !paths.Within(canonical(a.Dir), project) {
		project = canonical(a.Dir)
	}
	for _, named := range w.Outside {
		real := canonical(named.Path)
		switch {
		case real == "":
			w.Narrow(ask("hook/outside", "where "+cmdline.Escape(named.Path)+" leads cannot be told"))
		case !paths.Within(real, project):
			w.Narrow(ask("hook/outside", cmdline.Escape(named.Path)+" lies outside of the project, and the client's shell has no sandbox"))
		case named.Write && hidden(strings.TrimPrefix(real, project)):
			w.Narrow(ask("hook/steers", cmdline.Escape(named.Path)+" may steer other programs"))
		default:
			continue
		}
		return // one is enough
	}
}

func hidden(path string) bool {
	return slices.ContainsFunc(strings.Split(path, string(filepath.Separator)), func(name string) bool {
		return strings.HasPrefix(name, ".") && name != "." && name != ".."
	})
}

// canonical follows the links of a path; what does not exist at its end is kept.
// "" if that cannot be done.
func canonical(path string) string {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
		return ""
	}
	if _, err := os.Lstat(path); err == nil {
		return "" // a link that leads nowhere yet
	}
	parent := canonical(filepath.Dir(path))
	if parent == "" {
		return ""
	}
	return filepath.Join(parent, filepath.Base(path))
}

// otherPrograms leaves a program to a person that the client's shell finds
// elsewhere than the policy does.
func (h *Hook) otherPrograms(w *policy.ScriptDecision) {
	for _, name := range slices.Sorted(maps.Keys(w.Programs)) {
		if strings.ContainsRune(name, filepath.Separator) {
			continue
		}
		judged := w.Programs[name]
		theirs, err := h.Path.Find(name)
		if err == nil && sameFile(theirs, judged) {
			continue
		}
		found := "does not find it"
		if err == nil {
			found = "finds " + cmdline.Escape(theirs)
		}
		w.Narrow(ask("hook/program", cmdline.Escape(name)+" was judged as "+cmdline.Escape(judged)+", and the PATH of the client "+found))
		return
	}
}

func sameFile(a, b string) bool {
	one, errA := os.Stat(a)
	two, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(one, two)
}

// PathOf is the PATH of a client as its shell uses it: also the directories that
// tipstaff itself would not trust.
func PathOf(path string) facts.SearchPath { return facts.SearchPath(filepath.SplitList(path)) }
