package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/paths"
	"tipstaff/internal/policy/language"
)

// search looks the name of a program up by the PATH that the caller has given to the
// command, as a shell does, so that what is judged is what runs. What it finds in a
// directory that commands may write is judged as the path that it has; elsewhere the name
// says which program it is.
type search struct{ policy *language.Policy }

// found is a program that was looked up by a PATH of the caller.
type found struct {
	program Program
	err     error
}

// explain adds to the refusal of a path that the caller wrote a bare name: its PATH leads
// there.
func (f *found) explain(refusal Finding, word string) Finding {
	if f != nil && strings.Contains(word, "/") {
		name := path.Base(word)
		refusal.Hint = "The PATH that the command was given leads " + quoted(name) + " to this file, and commands may write there, so that its path has to be allowed. " +
			"Call another one by its path, or ask the operator for a line with the path, or one like .venv/bin/*."
	}
	return refusal
}

// maxPathEntries bounds the directories in which one name is looked up.
const maxPathEntries = 1024

// Judge implements [Rule].
func (r search) Judge(req *tipstaff.Request, w World, d *Draft) []Finding {
	list := pathOf(req)
	if list == nil || d.Dir == nil {
		return nil
	}
	if n := strings.Count(*list, ":") + 1; n > maxPathEntries {
		return []Finding{{
			Rule: "environment", Code: tipstaff.InvalidParameters, Msg: fmt.Sprintf("PATH names %d directories, at most %d are looked through", n, maxPathEntries),
			Hint: "Leave out those that the command does not need.", Details: map[string]any{"variable": "PATH"},
		}}
	}
	if len(d.Argv) == 0 || d.Argv[0] == "" || strings.Contains(d.Argv[0], "/") {
		return nil
	}
	word, program, err := findBy(d.Argv[0], *list, w, d.Dir, r.policy)
	d.found = &found{program, err}
	d.Argv = append([]string{word}, d.Argv[1:]...)
	return nil
}

// pathOf returns the PATH that a caller has given to a command; nil: none. A command from
// which it was taken away finds nothing.
func pathOf(req *tipstaff.Request) *string {
	for _, kv := range slices.Backward(req.Env) {
		if value, is := strings.CutPrefix(kv, "PATH="); is && !slices.Contains(req.OfSession, kv) {
			return &value
		}
	}
	if slices.Contains(req.Unset, "PATH") {
		return new(string)
	}
	return nil
}

// findBy looks a bare name up in the directories of list, as execvp(3) does: relative
// ones are those of the command's directory, and what is not there is passed over. It
// returns the word by which the program is judged.
func findBy(name, list string, w World, dir Directory, file *language.Policy) (word string, p Program, err error) {
	if list == "" || name == "." || name == ".." || strings.Count(list, ":") >= maxPathEntries {
		return name, Program{}, ErrNotFound
	}
	failure := error(ErrNotFound)
	for entry := range strings.SplitSeq(list, ":") {
		p, err := w.File(cmp.Or(entry, ".")+"/"+name, dir)
		switch {
		case errors.Is(err, ErrNotExecutable):
			failure = err
		case err != nil:
		case ofOperator(name, p.Path, w, dir, file):
			return name, p, nil
		default:
			return p.Path, p, nil
		}
	}
	return name, Program{}, failure
}

// ofOperator reports whether only the operator could have put a program where it is: it
// is the one that the server finds, or no command may change what its path leads to.
func ofOperator(name, full string, w World, dir Directory, file *language.Policy) bool {
	if own, err := w.Lookup(name); err == nil && own.Path == path.Clean(full) {
		return true
	}
	return !changeable(full, w, dir, file)
}

// changeable reports whether a command may change what an absolute path leads to, or the
// path leads into a root of the policy file or of a project. What cannot be found out may be changed.
func changeable(full string, w World, dir Directory, file *language.Policy) bool {
	checker, knows := w.(WriteChecker)
	if !knows || checker.Writable(full, dir) {
		return true
	}
	if file == nil || len(file.EveryRoot()) == 0 {
		return false
	}
	roots, ok := canonicalRoots(file.EveryRoot(), w)
	r, resolves := w.(Resolver)
	if !ok || !resolves {
		return true
	}
	real, err := r.Canonical(full, dir)
	return err != nil || paths.Within(real, roots...) || paths.Within(full, roots...)
}

// lentPath refuses a command that is lent something and finds the programs that it starts
// where commands may put others: git would give an agent of ssh to any program named ssh.
func (j *fileJudge) lentPath() {
	for _, l := range j.layers {
		if l.path == nil || len(j.credentials) == 0 {
			continue
		}
		for entry := range strings.SplitSeq(*l.path, ":") {
			if path.IsAbs(entry) && !changeable(entry, j.world, j.dir, j.policy) {
				continue
			}
			f := refusedVariable("PATH", "the policy lends this command "+strings.Join(j.credentials.Strings(), ", ")+", and commands may write in "+quoted(cmp.Or(entry, "."))+", where it would find programs", &Draft{Argv: l.words})
			f.Hint = "Set PATH for this command to directories of the system, or run it in a call of its own."
			j.add(f)
			return
		}
	}
}

// spellings returns a path to a program as rules may name it: as it is written, and from
// the command's directory and from the roots. A bare name has one.
func spellings(word string, dir Directory, facts *pathFacts) []string {
	out := []string{word}
	if !strings.Contains(word, "/") || dir == nil || facts == nil || strings.HasSuffix(word, "/..") || path.IsAbs(word) && strings.Contains(word, "/../") {
		return out
	}
	full := word
	if !path.IsAbs(word) {
		full = path.Join(dir.Path(), word)
	}
	out = append(out, full)
	bases := []string{dir.Path()}
	if facts.roots() {
		bases = slices.Concat(append([][]string{bases}, facts.rootLists...)...)
	}
	for _, base := range bases {
		if rest, within := strings.CutPrefix(full, strings.TrimSuffix(base, "/")+"/"); within {
			out = append(out, "./"+rest)
			if strings.Contains(rest, "/") { // else it would be a bare name
				out = append(out, rest)
			}
		}
	}
	return out
}
