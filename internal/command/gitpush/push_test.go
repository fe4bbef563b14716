package gitpush

import (
	"slices"
	"strings"
	"testing"
)

// What git makes of pushes is compared in internal/policy/facts, where there is a real
// repository: testdata/pushes.txt there has the readings.

func ordinary(Location) Repository { return Ordinary() }

func TestTheRepositoryIsOpenedForPushesOnly(t *testing.T) {
	for line, want := range map[string]int{
		"push": 1, "-C a -C b push x y": 1, "send-pack r x": 1, "status": 0, "stash push": 0, "commit -m push": 0, "": 0, "--version": 0,
		"push --unknown": 0, "http-push u": 0, "--exec-path=x push": 0,
	} {
		opened := 0
		Read(strings.Fields(line), func(Location) Repository { opened++; return Ordinary() })
		if opened != want {
			t.Errorf("git %s: opened %d times, want %d", line, opened, want)
		}
	}
}

func TestThePlaceIsTold(t *testing.T) {
	Read(strings.Fields("-C a --no-pager -C b --git-dir=c push"), func(at Location) Repository {
		if !slices.Equal(at.Dirs, []string{"a", "b"}) || at.GitDir != "c" {
			t.Errorf("%+v", at)
		}
		return Repository{}
	})
	p := Read(strings.Fields("--git-dir=c -C a push"), func(Location) Repository { t.Error("it is opened"); return Ordinary() })
	if !p.Is || p.Whole {
		t.Errorf("%+v", p) // where c is depends on -C behind it
	}
}

// TestWhatIsNotKnownMayBeAnything: a push is never less than it could be.
func TestWhatIsNotKnownMayBeAnything(t *testing.T) {
	unknown := func(Location) Repository { return Repository{} }
	for _, line := range []string{"push", "push origin x:refs/heads/y", "send-pack r x", "push --new", "push -Z x", "subtree push x", "flow publish", "--what push", "http-push x y"} {
		p := Read(strings.Fields(line), unknown)
		if !p.Is || p.Whole || !p.Forces() || !p.Deletes() || !p.Implied || !p.Updates[0].MayMeet([]string{"refs/notes/x"}) || p.Updates[0].Within([]string{"refs/heads/*"}) {
			t.Errorf("git %s: %+v", line, p)
		}
		if p.ForcesPlainly() {
			t.Errorf("git %s: it is certain to force", line)
		}
	}
	if p := Read([]string{"push", "origin", "+x"}, unknown); !p.ForcesPlainly() {
		t.Error("a + forces, whatever the repository is")
	}
	if Ordinary().Follow == nil || (&Update{}).Within([]string{"refs/*"}) {
		t.Error("the zero update is within something")
	}
}

// TestPatternsAgainstAllShortNames compares both relations of patterns with
// what they mean, by trying all names of a small alphabet.
func TestPatternsAgainstAllShortNames(t *testing.T) {
	var names, patterns []string
	var grow func(s string, signs string, most int, to *[]string)
	grow = func(s, signs string, most int, to *[]string) {
		*to = append(*to, s)
		if len(s) < most {
			for _, c := range signs {
				grow(s+string(c), signs, most, to)
			}
		}
	}
	grow("", "ab/", 5, &names)
	grow("", "ab*", 3, &patterns)
	for _, p := range patterns {
		for _, q := range patterns {
			both, beyond := false, false
			for _, n := range names {
				inP, inQ := takesIn(p, n), takesIn(q, n)
				both, beyond = both || inP && inQ, beyond || inQ && !inP
			}
			if meet(p, q) != both {
				t.Errorf("%q and %q meet: %v, want %v", p, q, meet(p, q), both)
			}
			if takesIn(p, q) && beyond {
				t.Errorf("%q does not take in all of %q", p, q)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"push", "push origin +x:y", "-C a -c push.default=matching push -fu r a:b :c ^d", "push --force-with-lease=a --delete x tag y", "send-pack --mirror r", "-c remote.origin.push=+a*:b* push", "push -o", "push --repo"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		p := Read(words, ordinary)
		switch {
		case !p.Is && len(p.Updates) > 0:
			t.Errorf("%q: updates without a push", line)
		case p.Is && !p.Whole && (len(p.Updates) != 1 || !p.Updates[0].MayMeet([]string{"refs/heads/x"})):
			t.Errorf("%q: not understood, and not anything", line)
		}
		for _, u := range p.Updates {
			if len(u.To) == 0 {
				t.Errorf("%q: an update of nothing", line)
			}
			if u.Within([]string{"refs/heads/feature/*"}) && u.MayMeet([]string{"refs/heads/main"}) {
				t.Errorf("%q: within a pattern, and beyond it: %+v", line, u)
			}
		}
		// Whatever is put in front makes it no less of a push.
		if more := Read(append([]string{"--no-pager"}, words...), ordinary); more.Is != p.Is || more.Whole != p.Whole {
			t.Errorf("%q: --no-pager makes a difference", line)
		}
		// The option --force makes every push force.
		if at := slices.Index(words, "push"); at == 0 {
			forced := Read(slices.Insert(slices.Clone(words), 1, "--force"), ordinary)
			if !slices.Contains(words, "--no-force") && len(forced.Updates) > 0 && !forced.Forces() && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--no-f") }) {
				t.Errorf("%q: with --force it does not force", line)
			}
		}
	})
}
