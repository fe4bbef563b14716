package gitconfig

import (
	"fmt"
	"slices"
	"strings"
)

// Repository says where a configuration lies. The zero value has no work tree.
type Repository struct {
	// Dir is the canonical path of the directory that the configuration belongs
	// to, with HEAD and hooks: /work/.git.
	Dir string
	// Hooks reports whether commands may set core.hooksPath to value, because
	// the operator leaves that directory to them; nil: no value.
	Hooks func(value string) bool
}

// Judge returns nil if a command may turn the accepted configuration into the
// proposed one. Otherwise the error is a [Refusal], or the [SyntaxError] of an
// unreadable text.
//
// Entries that keys.txt allows commands to write may come, go and change. All
// other entries must be the same in the same order, and so must every entry
// with the same key as one of them. What the meaning of a kept entry depends on
// must not change either: whether there is a work tree, whether config.worktree
// counts, and, if there is a relative core.hooksPath, where the work tree is.
//
// Messages contain keys, and values that the command wrote; never a value that
// only the accepted text contains, which may be a secret.
func (r Repository) Judge(accepted, proposed []byte) error {
	old, err := Parse(accepted)
	if err != nil {
		return fmt.Errorf("cannot read the accepted configuration, so no change of it can be judged; ask a person to mend it: %w", err)
	}
	now, err := Parse(proposed)
	if err != nil {
		return fmt.Errorf("cannot read the proposed configuration: %w", err)
	}
	var fs findings
	keys := keySet{}
	oldOwn, nowOwn := r.forbidden(old), r.forbidden(now)
	for i, own := range oldOwn {
		if own {
			keys.add(&old[i])
		}
	}
	a, b := selectEntries(old, oldOwn, keys), selectEntries(now, nowOwn, keys)
	r.compare(&fs, a, b)
	r.circumstances(&fs, old, now, a)
	return fs.refusal()
}

// Unsafe returns all entries of a configuration that a command may not write.
// It is for configurations that were never accepted, such as that of a
// repository that a command made.
func (r Repository) Unsafe(text []byte) []Finding {
	var fs findings
	entries, err := Parse(text)
	if err != nil {
		fs.add(func() Finding { return Finding{What: "the configuration cannot be read", Why: err.Error()} })
	}
	for _, e := range selectEntries(entries, r.forbidden(entries), nil) {
		fs.add(func() Finding { return r.unset(e) })
	}
	return fs.all()
}

// forbidden reports for each entry whether commands may not write it.
func (r Repository) forbidden(entries []Entry) []bool {
	own := make([]bool, len(entries))
	for i := range entries {
		own[i] = !r.harmless(&entries[i])
	}
	return own
}

// selectEntries returns the marked entries, and those with one of the keys.
func selectEntries(entries []Entry, marked []bool, keys keySet) []Entry {
	var list []Entry
	for i := range entries {
		if marked[i] || keys.has(&entries[i]) {
			list = append(list, entries[i])
		}
	}
	return list
}

// keySet is a set of keys: first by section and name, then by subsection.
type keySet map[pattern]map[string]bool

func (s keySet) add(e *Entry) {
	p := pattern{e.Section, e.HasSub, e.Name}
	if s[p] == nil {
		s[p] = map[string]bool{}
	}
	s[p][e.Sub] = true
}

func (s keySet) has(e *Entry) bool {
	return len(s) > 0 && s[pattern{e.Section, e.HasSub, e.Name}][e.Sub]
}

// harmless reports whether a command may write an entry.
func (r Repository) harmless(e *Entry) bool {
	if r.Hooks != nil && e.is("core", "hookspath") && r.Hooks(e.Value) {
		return true
	}
	row := rowOf(e)
	if row == nil || nameFault(e) != "" {
		return false
	}
	return slices.ContainsFunc(row.values, func(w rule) bool { return w.allows(r, e) })
}

// nameFault returns what is wrong with a subsection: git uses the name of a
// remote without an address as its address, and passes it to git fetch as an
// argument.
func nameFault(e *Entry) string {
	if e.HasSub && e.Section == "remote" {
		return addressFault(e.Sub)
	}
	return ""
}

// compare reports entries that are in one list only, or else a different order.
func (r Repository) compare(fs *findings, old, now []Entry) {
	if slices.Equal(old, now) {
		return
	}
	left := map[Entry]int{}
	for _, e := range old {
		left[e]++
	}
	for _, e := range now {
		if left[e]--; left[e] < 0 {
			fs.add(func() Finding { return r.unset(e) })
		}
	}
	for _, e := range old {
		if left[e] > 0 {
			left[e]--
			fs.add(func() Finding {
				return r.finding(e, "may not be removed or changed by a command, a person has put it there", ask("git config --unset-all %s", shown(e.Key())))
			})
		}
	}
	if len(fs.list) == 0 {
		fs.add(func() Finding {
			return Finding{shown(firstDifference(old, now).Key()), "may not change its place among entries like it", "of several entries the last one counts", "leave the order of the file as it is"}
		})
	}
}

// finding explains why commands may not write an entry.
func (r Repository) finding(e Entry, what, instead string) Finding {
	f := Finding{Key: shown(e.Key()), What: what, Instead: instead}
	row := rowOf(&e)
	switch {
	case row == nil:
		f.Why = "it is not among the keys that are known to name no program"
	case e.Section == "filter" && e.Sub == "lfs":
		f.Why = "git lfs install --local writes filters that name a program"
		f.Instead = "ask a person to run git lfs install, once for all repositories"
	case r.harmless(&e):
		f.Why = "it stands beside an entry of the same key that is a person's"
	case nameFault(&e) != "":
		f.Why = "as the name of a remote is an address too, " + nameFault(&e)
	case len(row.values) == 0:
		f.Why = row.why
	case row.values[0].address() && addressFault(e.Value) != "":
		f.Why = addressFault(e.Value)
	default:
		f.Why = fmt.Sprintf("only %s may be set (%s)", describeValues(row.values), row.why)
	}
	return f
}

// describeValues describes the allowed values, for people.
func describeValues(rules []rule) string {
	var words []string
	for _, w := range rules {
		word, ok := map[string]string{
			boolean: "true or false", "<line>": "one line without control characters", "<plain>": `one line that does not begin with "-"`,
			"<number>": "a number", "<address>": "an address without a helper", "<remote>": "the name of a remote or an address without a helper",
			"<remotes>": "names of remotes", "<worktree>": "a path into the work tree of the super project, for a submodule",
		}[w.word]
		if !ok {
			word = w.word
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// firstDifference returns the first entry that differs from the old one at its position.
func firstDifference(old, now []Entry) Entry {
	i := 0
	for old[i] == now[i] {
		i++
	}
	return now[i]
}

// unset explains why an entry may not be set. The value is the command's and
// may be long, so the message names the entry, and the person types the value.
func (r Repository) unset(e Entry) Finding {
	return r.finding(e, "may not be set by a command", ask("git config %s VALUE", shown(e.Key())))
}
