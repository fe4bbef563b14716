//go:build linux

package protected

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"tipstaff/internal/testing/testworld"
)

// ground is a directory with a workspace in it and one beside it.
type ground struct {
	*testworld.Tree

	ws, out     string
	log         bytes.Buffer
	keeper      *Registry
	confinement Confinement
}

func newGround(t *testing.T) *ground {
	t.Helper()
	w := testworld.New(t).Make("ws/", "out/")
	return &ground{Tree: w, ws: w.At("ws"), out: w.At("out")}
}

// keep begins to keep files while commands may write the workspace.
func (g *ground) keep(files ...File) {
	g.Helper()
	g.keeper = New(files, "ask again", slog.New(slog.NewTextHandler(&g.log, nil)))
	g.Cleanup(g.keeper.Close)
	g.keeper.Confine(func() Confinement { return g.confinement })
	g.keeper.AddWritable([]string{g.ws}, false, g.confinement)
}

func (g *ground) file(path string) File {
	return File{Path: path, Setting: "A_FILE", Kind: Steering, Why: "a test"}
}

// TestWhoseChangesAreTakenUp goes through what a file may be before, and what
// happens to it.
func TestWhoseChangesAreTakenUp(t *testing.T) {
	for _, c := range []struct {
		says  string
		make  func(g *ground) string // gives the path of the setting
		do    func(g *ground)
		taken bool
	}{
		{"written outside", func(g *ground) string { g.Write(g.out+"/f", "a"); return g.out + "/f" }, func(g *ground) { g.Write(g.out+"/f", "bb") }, true},
		{"renamed into place outside", func(g *ground) string { g.Write(g.out+"/f", "a"); return g.out + "/f" }, func(g *ground) {
			g.Write(g.out+"/g", "bb")
			g.Must(os.Rename(g.out+"/g", g.out+"/f"))
		}, true},
		{"made outside", func(g *ground) string { return g.out + "/f" }, func(g *ground) { g.Write(g.out+"/f", "a") }, true},
		{"removed outside", func(g *ground) string { g.Write(g.out+"/f", "a"); return g.out + "/f" }, func(g *ground) { g.Must(os.Remove(g.out + "/f")) }, true},
		{"a link outside that leads elsewhere outside", func(g *ground) string {
			g.Write(g.out+"/v1/f", "a")
			g.Write(g.out+"/v2/f", "bb")
			g.Must(os.Symlink("v1", g.out+"/now"))
			return g.out + "/now/f"
		}, func(g *ground) {
			g.Must(os.Symlink("v2", g.out+"/next"))
			g.Must(os.Rename(g.out+"/next", g.out+"/now"))
		}, true},
		{"a link outside that leads into the workspace now", func(g *ground) string {
			g.Write(g.out+"/v1", "a")
			g.Write(g.ws+"/v2", "bb")
			g.Must(os.Symlink("v1", g.out+"/now"))
			return g.out + "/now"
		}, func(g *ground) {
			g.Must(os.Symlink(g.ws+"/v2", g.out+"/next"))
			g.Must(os.Rename(g.out+"/next", g.out+"/now"))
		}, false},
		{"written in the workspace", func(g *ground) string { g.Write(g.ws+"/d/f", "a"); return g.ws + "/d/f" }, func(g *ground) { g.Write(g.ws+"/d/f", "bb") }, false},
		{"made in the workspace", func(g *ground) string { return g.ws + "/d/f" }, func(g *ground) { g.Write(g.ws+"/d/f", "a") }, false},
		{"removed in the workspace", func(g *ground) string { g.Write(g.ws+"/d/f", "a"); return g.ws + "/d/f" }, func(g *ground) { g.Must(os.RemoveAll(g.ws + "/d")) }, false},
		{"a link in the workspace on the way", func(g *ground) string {
			g.Write(g.out+"/d/f", "a")
			g.Must(os.Symlink(g.out+"/d", g.ws+"/d"))
			return g.ws + "/d/f"
		}, func(g *ground) { g.Write(g.out+"/d/f", "bb") }, false},
		{"a link outside to what lies in the workspace", func(g *ground) string {
			g.Write(g.ws+"/f", "a")
			g.Must(os.Symlink(g.ws+"/f", g.out+"/f"))
			return g.out + "/f"
		}, func(g *ground) { g.Write(g.ws+"/f", "bb") }, false},
		{"by another name", func(g *ground) string {
			g.Write(g.out+"/f", "a")
			g.Must(os.Link(g.out+"/f", g.ws+"/f"))
			return g.out + "/f"
		}, func(g *ground) { g.Write(g.ws+"/f", "bb") }, false},
		{"another name made for it later", func(g *ground) string { g.Write(g.out+"/f", "a"); return g.out + "/f" }, func(g *ground) {
			g.Must(os.Link(g.out+"/f", g.ws+"/f"))
			g.Write(g.ws+"/f", "bb")
		}, false},
		{"in a directory that every user may write", func(g *ground) string {
			g.Write(g.out+"/d/f", "a")
			g.Must(os.Chmod(g.out+"/d", 0o777))
			return g.out + "/d/f"
		}, func(g *ground) { g.Write(g.out+"/d/f", "bb") }, false},
		{"in one that every user may write, where each has only what is their own", func(g *ground) string {
			g.Write(g.out+"/d/f", "a")
			g.Must(os.Chmod(g.out+"/d", 0o777|os.ModeSticky))
			return g.out + "/d/f"
		}, func(g *ground) { g.Write(g.out+"/d/f", "bb") }, true},
		{"made there, where there was nothing", func(g *ground) string {
			g.Must(os.Mkdir(g.out+"/d", 0o755))
			g.Must(os.Chmod(g.out+"/d", 0o777|os.ModeSticky))
			return g.out + "/d/f"
		}, func(g *ground) { g.Write(g.out+"/d/f", "bb") }, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			g := newGround(t)
			path := c.make(g)
			g.keep(g.file(path))
			c.do(g)
			if got := g.keeper.MayReread(path); got != c.taken {
				t.Errorf("taken up: %t\n%s", got, &g.log)
			}
			g.keeper.MayReread(path)
			if n := strings.Count(g.log.String(), "the change is not taken up"); (n == 1) == c.taken || n > 1 {
				t.Errorf("the log says so %d times:\n%s", n, &g.log)
			}
			g.confinement.None = true
			if !g.keeper.MayReread(path) {
				t.Error("without a sandbox nothing could be kept from a command, and the file is not followed")
			}
		})
	}
}

// TestAPersonTakesUpWhatACommandMayHaveWritten and the next change is one again
// that a command may have made.
func TestAPersonTakesUpWhatACommandMayHaveWritten(t *testing.T) {
	g := newGround(t)
	path := g.ws + "/f"
	g.Write(path, "a")
	g.keep(g.file(path))
	if log := g.log.String(); strings.Count(log, "read at the start") != 1 || !strings.Contains(log, "commands may write in "+g.ws) || !strings.Contains(log, "ask again") {
		t.Errorf("the log says\n%s", log)
	}
	g.Write(path, "bb")
	if g.keeper.MayReread(path) {
		t.Fatal("the change was taken up")
	}
	g.keeper.Accept()
	if !strings.Contains(g.log.String(), "taken as it is now") {
		t.Errorf("the log says\n%s", &g.log)
	}
	before := g.log.Len()
	if g.keeper.MayReread(path); g.log.Len() != before {
		t.Errorf("nothing has changed, and the log says\n%s", g.log.String()[before:])
	}
	g.Write(path, "ccc")
	if g.keeper.MayReread(path) || strings.Count(g.log.String(), "the change is not taken up") != 2 {
		t.Errorf("the next change is another:\n%s", &g.log)
	}
}

// TestADirectoryThatBecomesWritableMakesItsFilesStay however long it is writable.
func TestADirectoryThatBecomesWritableMakesItsFilesStay(t *testing.T) {
	g := newGround(t)
	path := g.out + "/f"
	g.Write(path, "a")
	g.keep(g.file(path))
	g.Write(path, "bb")
	if !g.keeper.MayReread(path) {
		t.Fatal("it lies outside, and is not followed")
	}
	g.keeper.AddWritable([]string{g.out}, false, Confinement{})
	g.keeper.AddWritable([]string{g.ws}, false, Confinement{})
	g.Write(path, "ccc")
	if g.keeper.MayReread(path) {
		t.Error("it is followed although commands have been let in")
	}
}

// TestAnOwnDirectoryIsFollowedBehindMounts while it is the one that was there first.
func TestAnOwnDirectoryIsFollowedBehindMounts(t *testing.T) {
	g := newGround(t)
	dir := g.ws + "/a/.tipstaff"
	path := dir + "/f"
	g.Write(path, "a")
	g.Must(os.Symlink(path, g.ws+"/link"))
	own := g.file(dir)
	own.Dir = true
	g.confinement.Mounts = true
	g.keep(g.file(path), g.file(g.ws+"/link"), own)
	g.Write(path, "bb")
	if !g.keeper.MayReread(path) {
		t.Errorf("what lies in it is not followed\n%s", &g.log)
	}
	if g.keeper.MayReread(g.ws + "/link") {
		t.Error("a link that leads into it is a command's")
	}
	g.confinement.Mounts = false
	if g.keeper.MayReread(path) {
		t.Error("it is followed without mounts")
	}
	g.confinement.Mounts = true
	g.Must(os.Rename(dir, g.ws+"/old"))
	g.Write(path, "bb")
	if g.keeper.MayReread(path) {
		t.Error("another directory has its name, and is followed")
	}
}

// TestASecretIsFoundWhereverItIsMoved: by the open descriptor.
func TestASecretIsFoundWhereverItIsMoved(t *testing.T) {
	g := newGround(t)
	path := g.ws + "/d/key"
	g.Write(path, "a")
	g.Must(os.Symlink(path, g.ws+"/link"))
	secret := g.file(g.ws + "/link")
	secret.Kind = Secret
	g.keep(secret)
	is := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, p := range g.keeper.Locations() {
			if p.Kind != Secret {
				t.Errorf("%+v", p)
			}
			got = append(got, strings.TrimPrefix(p.Path, g.ws))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	is("at first", "/d/key")
	g.Must(os.Remove(g.ws + "/link"))
	g.Must(os.Symlink("/etc/passwd", g.ws+"/link"))
	is("with a link that a command has made", "/d/key")
	g.Must(os.Rename(g.ws+"/d", g.ws+"/e"))
	is("moved", "/e/key")
	g.Write(path, "new")
	is("with a new one in its place", "/d/key", "/e/key")
	g.Must(os.Remove(g.ws + "/e/key"))
	is("and the old one removed", "/d/key")
}

// TestADirectoryThatTheServerMakesIsHeldFromThenOn: its state directory, at the
// first start.
func TestADirectoryThatTheServerMakesIsHeldFromThenOn(t *testing.T) {
	g := newGround(t)
	dir := g.file(g.ws + "/state")
	dir.Kind, dir.Dir = Secret, true
	g.keep(dir)
	g.Must(os.Mkdir(g.ws+"/state", 0o700))
	g.keeper.Locations()
	g.Must(os.Rename(g.ws+"/state", g.ws+"/moved"))
	if all := g.keeper.Locations(); len(all) != 1 || all[0].Path != g.ws+"/moved" || !all[0].Dir {
		t.Errorf("%+v", all)
	}
}

func TestASecretWithTwoNamesIsAFault(t *testing.T) {
	g := newGround(t)
	g.Write(g.out+"/key", "a")
	g.Write(g.out+"/cert", "a")
	g.Must(os.Link(g.out+"/cert", g.ws+"/cert"))
	secret := g.file(g.out + "/key")
	secret.Kind = Secret
	g.keep(secret, g.file(g.out+"/cert"))
	if faults := g.keeper.Linked(); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	g.Must(os.Link(g.out+"/key", g.ws+"/key"))
	g.keeper.Accept()
	if faults := g.keeper.Linked(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "2 names (hard links)") {
		t.Errorf("%v", faults)
	}
}

// TestTheStricterKindCounts where two settings name one file.
func TestTheStricterKindCounts(t *testing.T) {
	g := newGround(t)
	g.Write(g.out+"/pem", "a")
	g.Must(os.Symlink("pem", g.out+"/also"))
	secret := g.file(g.out + "/also")
	secret.Kind = Secret
	g.keep(g.file(g.out+"/pem"), secret)
	if all := g.keeper.Locations(); len(all) != 1 || all[0].Kind != Secret {
		t.Errorf("%+v", all)
	}
}

// TestNoKeeperLetsEverythingBeRead: nothing is confined then.
func TestNoKeeperLetsEverythingBeRead(t *testing.T) {
	var k *Registry
	k.Add(File{Path: "/x"})
	k.AddWritable([]string{"/"}, true, Confinement{})
	k.Accept()
	k.Close()
	if !k.MayReread("/x") || len(k.Locations()) > 0 {
		t.Error("it keeps something")
	}
}

// TestUnderOpenAFileIsNotFollowedThatTheUserMayWrite because commands may, too.
func TestUnderOpenAFileIsNotFollowedThatTheUserMayWrite(t *testing.T) {
	g := newGround(t)
	g.Write(g.out+"/f", "a")
	g.keep(g.file(g.out + "/f"))
	g.keeper.AddWritable(nil, true, Confinement{})
	g.Write(g.out+"/f", "bb")
	if g.keeper.MayReread(g.out + "/f") {
		t.Error("a command may write it under the profile open, and it is followed")
	}
	if os.Geteuid() != 0 && !g.keeper.MayReread("/etc/passwd") {
		t.Error("no command may write root's file, and it is not followed")
	}
}
