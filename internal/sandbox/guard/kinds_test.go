//go:build linux

package guard

import (
	"os"
	"testing"
)

// change is one of something that steers others.
type change struct {
	says string
	item Item
	was  map[string]string // files that were there before
	does func(w *workspace)
	want string // the text of "it" when a command has done it
	put  bool   // it was put back
}

func fixed() Item  { return Item{Path: "it", Kind: Fixed} }
func absent() Item { return Item{Path: "it", Kind: Absent} }
func config() Item { return Item{Path: "it", Kind: Config, GitDir: "."} }

func writes(text string) func(w *workspace) { return func(w *workspace) { w.write("it", text) } }

func adds(text string) func(w *workspace) { return func(w *workspace) { w.add("it", text) } }

func removes(w *workspace) { w.Must(os.RemoveAll(w.At("it"))) }

func moves(text string) func(w *workspace) {
	return func(w *workspace) {
		w.write("x", text)
		w.Must(os.Rename(w.At("x"), w.At("it")))
	}
}

const gone = "(no such file or directory)"

var changes = []change{
	{"a fixed file that is written", fixed(), map[string]string{"it": "good"}, writes("evil"), "good", true},
	{"one that is replaced", fixed(), map[string]string{"it": "good"}, moves("evil"), "good", true},
	{"one that is removed", fixed(), map[string]string{"it": "good"}, removes, gone, false},
	{"one that comes back otherwise", fixed(), map[string]string{"it": "good"}, func(w *workspace) { removes(w); w.settle(); w.write("it", "evil") }, "good", true},
	{"one that comes back as it was", fixed(), map[string]string{"it": "good"}, func(w *workspace) { removes(w); w.settle(); moves("good")(w) }, "good", false},
	{"one that was not there", fixed(), nil, writes("evil"), gone, true},
	{"rights to be run", fixed(), map[string]string{"it": "good"}, func(w *workspace) { w.Must(os.Chmod(w.At("it"), 0o600)) }, "good", true},
	{"a file that is not there", absent(), nil, writes("evil"), gone, true},
	{"one that is moved there", absent(), nil, moves("evil"), gone, true},
	{"one that goes", absent(), map[string]string{"it": "a person's"}, removes, gone, false},
	{"one that goes and comes", absent(), map[string]string{"it": "a person's"}, func(w *workspace) { removes(w); w.settle(); w.write("it", "a person's") }, gone, true},
	{"a name in a configuration", config(), map[string]string{"it": plainConfig}, adds("[user]\n\tname = A\n"), namedConfig, false},
	{"the same by a rename", config(), map[string]string{"it": plainConfig}, moves(namedConfig), namedConfig, false},
	{"a program in it", config(), map[string]string{"it": plainConfig}, writes(evilConfig), plainConfig, true},
	{"the same by a rename", config(), map[string]string{"it": plainConfig}, moves(evilConfig), plainConfig, true},
	{"a person's program that stays", config(), map[string]string{"it": evilConfig}, moves(evilConfig + "[user]\n\tname = A\n"), evilConfig + "[user]\n\tname = A\n", false},
	{"another program", config(), map[string]string{"it": evilConfig}, writes(evilConfig + "2\n"), evilConfig, true},
	{"what is no configuration", config(), map[string]string{"it": plainConfig}, writes("[core\n"), plainConfig, true},
	{"one in two steps", config(), map[string]string{"it": plainConfig}, func(w *workspace) { moves(namedConfig)(w); w.settle(); adds("[core]\nfsmonitor = evil\n")(w) }, namedConfig, true},
	{"one that goes and comes with a program", config(), map[string]string{"it": plainConfig}, func(w *workspace) { removes(w); w.settle(); w.write("it", evilConfig) }, plainConfig, true},
}

// TestWhatACommandChanges is judged by the kind of the item. A command that only did
// what is accepted is not disturbed.
func TestWhatACommandChanges(t *testing.T) {
	for _, c := range changes {
		t.Run(c.says, func(t *testing.T) {
			w := newWorkspace(t)
			for name, text := range c.was {
				w.write(name, text)
			}
			w.protect(c.item)
			found, stopped := w.attack(func() { c.does(w) })
			w.says("it", c.want)
			if (found == "it") != c.put || stopped != c.put {
				t.Errorf("violations %q, stopped %v", found, stopped)
			}
		})
	}
}

// TestWhatAPersonChangesIsTakenOver where no command runs: it stays, also when the next
// command comes, and is what the next change is judged by.
func TestWhatAPersonChangesIsTakenOver(t *testing.T) {
	for _, c := range changes {
		t.Run(c.says, func(t *testing.T) {
			w := newWorkspace(t)
			for name, text := range c.was {
				w.write(name, text)
			}
			w.protect(c.item)
			c.does(w)
			now := w.text("it")
			found, stopped := w.attack(func() {})
			w.says("it", now)
			if found != "" || stopped {
				t.Errorf("violations %q, stopped %v", found, stopped)
			}
			if now == gone {
				return
			}
			if found, _ := w.attack(func() { w.write("it", "[alias]\n\tx = !evil\n") }); found != "it" {
				t.Errorf("afterwards: violations %q", found)
			}
			w.says("it", now)
		})
	}
}

// TestAMildItemEndsACommandOnlyAfterAFew changes that were put back.
func TestAMildItemEndsACommandOnlyAfterAFew(t *testing.T) {
	w := newWorkspace(t)
	w.write("it", "good")
	w.protect(Item{Path: "it", Mild: true})
	c := w.begin()
	for i := range mildTimes + 2 {
		w.write("it", "evil")
		w.settle()
		w.says("it", "good")
		if stopped := c.stopped.Load() > 0; stopped != (i >= mildTimes) {
			t.Errorf("after %d changes: stopped %v", i+1, stopped)
		}
	}
	found := c.End()
	if w.paths(found) != "it" || !found[0].Ended {
		t.Errorf("%v", found)
	}
}

// TestAllSuspectsAreTold and those who cannot have done it are not.
func TestAllSuspectsAreTold(t *testing.T) {
	w := newWorkspace(t)
	w.write("a/it", "good")
	w.Mkdir("b")
	w.protect(Item{Path: "a/it"})
	one, two := w.begin(), w.begin()
	other := &running{}
	other.Command = w.Begin([]string{w.At("b")}, everywhere, func() { other.stopped.Add(1) })
	over := w.begin()
	over.End()
	w.write("a/it", "evil")
	for _, c := range []struct {
		*running
		want int
	}{{one, 1}, {two, 1}, {other, 0}, {over, 0}} {
		found := c.End()
		if c != (struct {
			*running
			want int
		}{over, 0}) && len(found) != c.want || int(c.stopped.Load()) != c.want {
			t.Errorf("%d violations, stopped %d times; want %d", len(found), c.stopped.Load(), c.want)
		}
	}
}

// TestALinkedWorkTreeMayBeMoved where commands may write, and nowhere else.
func TestALinkedWorkTreeMayBeMoved(t *testing.T) {
	w := newWorkspace(t)
	w.skeleton("r")
	const gitdir = "r/worktrees/w/gitdir"
	w.write(gitdir, w.At("w/.git")+"\n")
	w.protect(Item{Path: gitdir, Kind: WorkTree})
	for _, to := range []string{w.At("moved/.git"), "../../../moved/.git", w.At("a b/.git")} {
		if found, stopped := w.attack(func() { w.Must(os.WriteFile(w.At(gitdir), []byte(to+"\n"), 0o600)) }); found != "" || stopped {
			t.Errorf("to %s: violations %q, stopped %v", to, found, stopped)
		}
		w.says(gitdir, to+"\n")
	}
	was := w.text(gitdir)
	for _, to := range []string{"/etc/.git", w.At("moved"), w.At("../.git"), "../../../../../.git"} {
		if found, stopped := w.attack(func() { w.Must(os.WriteFile(w.At(gitdir), []byte(to+"\n"), 0o600)) }); found != gitdir || !stopped {
			t.Errorf("to %s: violations %q, stopped %v", to, found, stopped)
		}
		w.says(gitdir, was)
	}
}
