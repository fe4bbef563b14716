//go:build linux

package sandbox

import (
	"net"
	"slices"
	"sync"
	"testing"

	"tipstaff/internal/sandbox/profile"
)

// owning gives a sandbox files of tipstaff's own.
func owning(list func(b *box) []profile.OwnFile) func(*box, *Options) {
	return func(b *box, o *Options) {
		files := list(b)
		for _, f := range files {
			b.write(f.Path, "own\n")
		}
		o.OwnFiles = func() []profile.OwnFile { return files }
	}
}

func ownAt(path string, readable bool) profile.OwnFile {
	return profile.OwnFile{Entry: profile.Entry{Path: path, Why: "tipstaff's own"}, Name: path, Readable: readable}
}

// TestOwnFilesAreNeverACommands under each profile. What Landlock cannot keep in a
// workspace, the server does not read again.
func TestOwnFilesAreNeverACommands(t *testing.T) {
	for _, p := range []profile.Profile{profile.Workspace, profile.ReadOnly, profile.Open} {
		t.Run(p.String(), func(t *testing.T) {
			eachTier(t, func(t *testing.T, tier Tier) {
				b := newWorldOutside(t).confine(tier, func(_ *box, o *Options) { o.Profile = p }, owning(func(b *box) []profile.OwnFile {
					return []profile.OwnFile{ownAt(b.ws+"/conf/key", false), ownAt(b.ws+"/conf/policy", true), ownAt(b.root+"/beside/key", false), ownAt(b.root+"/beside/policy", true)}
				}))
				if p == profile.Open && tier == Landlock {
					b.all([]try{{"nothing is kept where there are no rules for files and no mounts", "cat conf/key && echo x > conf/policy && cat conf/policy", "=own\nx"}})
					return
				}
				b.all([]try{
					{"a secret is not read in the workspace", not("grep . conf/key"), "=refused"},
					{"nor beside it", not("grep . ../beside/key"), "=refused"},
					{"it is not written", not("echo x > conf/key"), "=refused"},
					{"nor does it get a second name", not("ln conf/key name && grep . name"), "=refused"},
					{"what only steers is read", "cat conf/policy ../beside/policy", "=own\nown"},
					{"and not written where it lies beside", not("echo x > ../beside/policy"), "=refused"},
					{"nor exchanged", not("echo x > new && mv -f new ../beside/policy"), "=refused"},
					{"nor is its directory", not("mv ../beside ../other"), "=refused"},
					{"nor does it get a second name in the workspace", not("ln ../beside/policy name2"), "=refused"},
				})
				if tier == Namespaces || p == profile.ReadOnly {
					b.all([]try{
						{"nor written in the workspace", not("echo x > conf/policy"), "=refused"},
						{"nor exchanged there", not("echo x > new; mv -f new conf/policy"), "=refused"},
						{"nor its directory", not("mv conf other"), "=refused"},
					})
				}
			})
		})
	}
}

// TestACallerOpensNoDirectoryWithOwnFilesByNamingIt: where nothing says what the
// workspace is, a command may write in its directory.
func TestACallerOpensNoDirectoryWithOwnFilesByNamingIt(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newWorldOutside(t).confine(tier, owning(func(b *box) []profile.OwnFile {
			link := ownAt(b.root+"/real/cert", true)
			link.Name = b.root + "/named/cert"
			return []profile.OwnFile{ownAt(b.root+"/conf/teams/policy", true), link, ownAt(b.ws+"/list", true)}
		}))
		for dir, want := range map[string]string{
			"/elsewhere": "=done", "/conf": "=refused", "/conf/teams": "=refused", "/conf/teams/below": "=done", "/named": "=refused", "/real": "=refused", "/ws/sub": "=done",
		} {
			b.mkdir(b.root + dir)
			o, err := b.run(Command{Dir: b.root + dir}, not("echo x > new"))
			if err != nil || o.text != want[1:]+"\n" {
				t.Errorf("%s: %v, %q, want %q", dir, err, o.text, want[1:])
			}
		}
	})
}

// TestASocketOfTheServersStaysWhereItIs where mounts can see to that.
func TestASocketOfTheServersStaysWhereItIs(t *testing.T) {
	b := newWorldOutside(t).confine(Namespaces, func(b *box, o *Options) {
		b.t.Chdir(b.ws) // the whole path would be too long for an address
		l, err := (&net.ListenConfig{}).Listen(b.t.Context(), "unix", "door")
		b.must(err)
		b.t.Cleanup(func() { _ = l.Close() })
		o.OwnFiles = func() []profile.OwnFile { return []profile.OwnFile{ownAt(b.ws+"/door", true)} }
	})
	b.all([]try{
		{"it is not removed", not("rm door"), "=refused"},
		{"nor moved", not("mv door other"), "=refused"},
		{"nor exchanged for a link", not("ln -sf /etc/passwd door"), "=refused"},
		{"what lies beside it is", not("echo x > file && mv file other && rm other"), "=done"},
	})
}

// TestWhatCommandsMayWriteIsToldBeforeTheyDo to those who decide by it what may be
// read again.
func TestWhatCommandsMayWriteIsToldBeforeTheyDo(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		var mu sync.Mutex
		var told []string
		b := newWorldOutside(t).confine(tier, func(_ *box, o *Options) {
			o.OnAccess = func(paths profile.Paths, mounts bool) {
				mu.Lock()
				defer mu.Unlock()
				if mounts == (tier == Namespaces) {
					told = append(told, paths.Writable()...)
				}
			}
		})
		b.mkdir(b.root + "/elsewhere")
		if _, err := b.run(Command{Dir: b.root + "/elsewhere"}, "true"); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, dir := range []string{b.ws, b.root + "/elsewhere"} {
			if !slices.Contains(told, dir) {
				t.Errorf("%s is writable, and only %v was told", dir, told)
			}
		}
	})
}
