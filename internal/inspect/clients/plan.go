package clients

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/plainfile"
)

// Change is what becomes of one file, before anything is done.
type Change struct {
	Path    string
	Clients []Client // whose file it is: sometimes two share one
	New     bool     // the file does not exist yet
	Remove  bool     // the file was made by an installation and goes again
	// Restores is the copy that the file becomes again, byte for byte; "": it
	// is changed by hand, so to say.
	Restores string

	file    file
	after   string
	journal journal
	undoes  bool     // nothing of tipstaff's is left in it
	denies  []string // what [step.Denies] will be
	copies  []step   // whose copies say nothing any more once this is done
}

// Nothing reports whether the file already is as it should be.
func (c Change) Nothing() bool {
	return c.after == c.file.text && !c.Remove && (c.file.info != nil || c.after == "")
}

// Diff shows the change.
func (c Change) Diff() string { return Diff(c.file.text, c.after) }

// Options say how files are treated.
type Options struct {
	Scope  Scope
	Follow bool // links may be followed
}

// Install plans the entry for clients. Clients that share a file share a change.
// The errors are of the clients for which nothing can be planned.
func (s System) Install(list []Client, e Entry, o Options) ([]Change, []error) {
	return s.plan(list, o, func(c Client, ch *Change) error {
		if e.URL != "" && c.NoHTTP != "" {
			return refuse("Leave --http out.", "%s", c.NoHTTP)
		}
		f, ok := c.format.(editor)
		if !ok {
			return c.addByHand(ch, e, o.Scope)
		}
		d, _ := f.(denial)
		before := d.denied(ch.after)
		after, err := setEntry(f, ch.after, c.entry.fields(e), c.entry.foreign(e))
		if err == nil {
			ch.after = after
			ch.denies = append(ch.denies, slices.DeleteFunc(d.denied(after), func(tool string) bool { return slices.Contains(before, tool) })...)
		}
		return c.refused(ch.Path, err, "Mend it, or paste the entry there yourself.")
	})
}

// Uninstall plans what gives the files back as they were before. What tipstaff has
// written there for other clients of the list goes with it, and for others stays.
func (s System) Uninstall(list []Client, o Options) ([]Change, []error) {
	return s.plan(list, o, func(c Client, ch *Change) error {
		if ch.file.info == nil || ch.after != ch.file.text || ch.Remove {
			return nil // there is no file, or it is given back already
		}
		f, ok := s.ours(c, ch).(editor)
		if !ok {
			return c.removeByHand(ch, o.Scope)
		}
		entry, err := f.entry(ch.file.text)
		if err == nil && entry != nil {
			err = s.giveBack(ch, list, o.Scope)
		}
		return c.refused(ch.Path, err, "Mend it, or take the entry out yourself.")
	})
}

// ours is the format of a client for what is tipstaff's in a file.
func (s System) ours(c Client, ch *Change) format {
	if d, ok := c.format.(denial); ok {
		return d.only(ch.denies)
	}
	return c.format
}

// giveBack finds what the file was: what the journal proves, as long as nobody has
// changed the file since, or else the text without the entries that go. Only a file of
// which the journal says that it was not there goes.
func (s System) giveBack(ch *Change, list []Client, scope Scope) error {
	steps, err := ch.journal.read(ch.file.path)
	if err != nil {
		return err
	}
	gone := s.formats(ch, list, scope)
	stays := slices.DeleteFunc(s.formats(ch, everyFile(), scope), func(f editor) bool { return slices.Contains(gone, f) })
	want := entries(stays, ch.file.text)
	ch.undoes = len(want) == 0
	for _, f := range gone {
		if _, is := f.(denial); is {
			ch.denies = nil
		}
	}
	text := ch.file.text // the oldest that is known, before the entries came
	for _, s := range back(steps, ch.file.text) {
		if s.Copy != "" {
			ch.copies = append(ch.copies, s)
		}
		if !s.Existed && ch.undoes {
			ch.Remove, ch.after = true, ""
			return nil
		}
		before, ok := s.text()
		if !ok || !reflect.DeepEqual(entries(stays, before), want) {
			continue
		}
		if len(entries(gone, before)) == 0 {
			ch.Restores, ch.after = s.Copy, before
			return nil
		}
		text = before
	}
	ch.copies = nil // they differ from what the file becomes
	for _, f := range gone {
		if text, err = removeEntry(f, text); err != nil {
			return err
		}
	}
	ch.after = text
	return nil
}

// formats are those in which the clients of a list write into the file of a change.
func (s System) formats(ch *Change, list []Client, scope Scope) (all []editor) {
	for _, c := range list {
		f, ok := s.ours(c, ch).(editor)
		if ok && ch.is(s.Path(c, scope)) && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// entries are what formats find in a text. A text that one cannot read has none for it.
func entries(list []editor, text string) map[editor]map[string]any {
	found := map[editor]map[string]any{}
	for _, f := range list {
		if entry, err := f.entry(text); err == nil && entry != nil {
			found[f] = entry
		}
	}
	return found
}

func (s System) plan(list []Client, o Options, change func(Client, *Change) error) ([]Change, []error) {
	var changes []Change
	var errs []error
	for _, c := range list {
		path := s.Path(c, o.Scope)
		if path == "" {
			errs = append(errs, fmt.Errorf("%s: %w", c.Name, s.noPath(c, o.Scope)))
			continue
		}
		i := slices.IndexFunc(changes, func(other Change) bool { return other.is(path) })
		if i < 0 {
			f, err := read(path, o.Follow)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
				continue
			}
			ch := Change{Path: path, file: f, New: f.info == nil, after: f.text, journal: journal(s.Journal)}
			ch.denies, _ = ch.journal.denies(f.path) // a journal that cannot be read stops the change when it is noted
			changes = append(changes, ch)
			i = len(changes) - 1
		}
		ch := changes[i]
		if err := change(c, &ch); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
			continue
		}
		ch.Clients = append(slices.Clone(ch.Clients), c)
		changes[i] = ch
	}
	return slices.DeleteFunc(changes, func(c Change) bool { return len(c.Clients) == 0 }), errs
}

// is reports whether the change is that of a path, under whatever name.
func (c Change) is(path string) bool {
	if c.Path == path {
		return true
	}
	a, errA := os.Stat(c.Path)
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func (s System) noPath(c Client, scope Scope) error {
	switch {
	case scope == Project:
		return refuse("Leave --scope project out.", "%s keeps no servers in a project", c.Title)
	case s.Home == "":
		return refuse("Set HOME to your home directory and try again.", "no home directory is known, so the file of %s cannot be found", c.Title)
	}
	return refuse("Say --print and paste the entry there yourself.", "where %s keeps its file on %s is not known", c.Title, s.GOOS)
}

// refused makes a refusal of what a format found.
func (c Client) refused(path string, err error, do string) error {
	var refused *Refused
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return refuse(do, "%s is left alone: %v", path, err)
}

// Do carries the change out, and notes it. It returns the copy that it has kept of the
// file before, "" for none.
func (c Change) Do(now time.Time) (backup string, err error) {
	if c.Nothing() {
		return "", nil
	}
	release, err := c.journal.lock()
	if err != nil {
		return "", err
	}
	defer release()
	if err := c.file.check(); err != nil {
		return "", err
	}
	if c.file.info != nil && (!c.undoes || c.Restores == "" && !c.Remove) {
		if backup, err = c.file.backUp(now); err != nil {
			return "", err
		}
	}
	if !c.undoes { // first, because what ends this program must not leave a change that nobody knows of
		if err = c.note(backup, now); err != nil {
			dropCopy(backup)
			return "", err
		}
	}
	if err := c.put(); err != nil {
		if c.file.same() { // else the copy is the last of what it was
			dropCopy(backup)
			if !c.undoes {
				err = errors.Join(err, c.journal.takeBack(c.file.path))
			}
		}
		return "", err
	}
	if c.undoes {
		if err := c.settle(); err != nil {
			return backup, fmt.Errorf("%s is changed, but what was noted of it cannot be removed: %w", c.Path, err)
		}
	}
	return backup, nil
}

// dropCopy removes the copy of a file that is what it was.
func dropCopy(backup string) {
	if backup != "" {
		_ = os.Remove(backup)
	}
}

// put puts the new text in the place of the old one, or removes the file.
func (c Change) put() error {
	if !c.Remove {
		return c.file.write(c.after)
	}
	if err := os.Remove(c.file.path); err != nil {
		return refuse("Remove it yourself.", "%s cannot be removed: %v", c.Path, err)
	}
	return nil
}

// note writes into the journal what is about to be done.
func (c Change) note(backup string, now time.Time) error {
	if err := c.file.makeDir(); err != nil { // a file has its place in the journal by its directory
		return err
	}
	s := step{Time: now.UTC(), Existed: c.file.info != nil, After: hashOf(c.after), Copy: backup, Denies: c.denies}
	if s.Existed {
		s.Before = hashOf(c.file.text)
	}
	return c.journal.add(c.file.path, s)
}

// settle ends the history of a file from which tipstaff is taken out. It removes the
// copies of what the file is again, and of what only installations have made.
func (c Change) settle() error {
	for _, s := range c.copies {
		if _, ok := s.text(); ok {
			_ = os.Remove(s.Copy)
		}
	}
	return c.journal.forget(c.file.path)
}

// Snippet is the entry as a person would paste it.
func (c Client) Snippet(e Entry) (string, error) {
	if e.URL != "" && c.NoHTTP != "" {
		return "", refuse("Leave --http out.", "%s", c.NoHTTP)
	}
	return c.format.snippet(c.entry.fields(e)), nil
}

// Token says where the token for HTTP goes.
func (c Client) Token() string {
	if c.entry.token == tokenByVariable {
		return fmt.Sprintf(tokenByVariable, c.Title)
	}
	return c.entry.token
}

// State is what a client's file says of the server.
type State struct {
	Path      string
	Exists    bool  // there is a file
	Installed bool  // the entry is in it
	Entry     Entry // the entry
	Off       bool  // the entry is there and switched off
	// Denied says that the client's own shell is denied, by whomever. Installed says
	// that tipstaff has denied it.
	Denied bool
	Fault  string // why the file cannot be read; ""
	// Ask is the client's own command line that says whether the entry is there, where
	// tipstaff cannot tell; "": it can.
	Ask string

	found map[string]any // the entry as it stands in the file
}

// Look reads what a client's file says.
func (s System) Look(c Client, scope Scope) State {
	st := State{Path: s.Path(c, scope)}
	if st.Path == "" {
		st.Fault = s.noPath(c, scope).Error()
		return st
	}
	data, err := plainfile.Read(st.Path, maxFile)
	if err != nil {
		if there(st.Path) {
			st.Exists, st.Fault = true, err.Error()
		}
		return st
	}
	st.Exists = true
	r, ok := c.format.(reader)
	if !ok {
		if strings.Contains(string(data), ServerName) { // else it is not there
			st.Ask = c.ask
		}
		return st
	}
	entry, err := r.entry(string(data))
	if err != nil {
		st.Fault = err.Error()
		return st
	}
	if d, ok := c.format.(denial); ok {
		ours, err := journal(s.Journal).denies(st.Path)
		if err != nil {
			st.Fault = err.Error()
		}
		st.Denied = len(entry) == len(d.all())
		st.Installed = slices.ContainsFunc(ours, func(tool string) bool { return entry[tool] != nil })
		return st
	}
	if entry != nil {
		st.Installed, st.Entry, st.found = true, c.entry.read(entry), entry
		st.Off = entry["disabled"] == true || entry["enabled"] == false
	}
	return st
}
