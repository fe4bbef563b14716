//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/sandbox/profile"
)

// TestWhatCommandsInNamespacesSee: directories in which programs meet that do
// not know each other are private, and what is not named stays out of sight.
func TestWhatCommandsInNamespacesSee(t *testing.T) {
	b := newBox(t, Namespaces, func(b *box, o *Options) {
		o.Machine.StateDir = b.root + "/ws/state"
		b.write(b.root+"/ws/state/key", "secret")
		b.write(b.root+"/beside/secret", "secret")
		b.write(b.root+"/programs/one", "#!/bin/sh\necho one runs\n")
		b.write(b.root+"/programs/in/library", "secret of a program")
		b.must(os.Chmod(b.root+"/programs/one", 0o700))
		b.write(b.root+"/real/two", "#!/bin/sh\necho two runs\n")
		b.must(os.Chmod(b.root+"/real/two", 0o700))
		b.link(b.root+"/real/two", b.root+"/programs/two")
		b.link(b.root+"/nowhere", b.root+"/programs/three")
		o.Search = []string{b.root + "/programs"}
	})
	programs := b.root + "/programs"
	b.all([]try{
		{"a workspace as deep in /tmp as one likes is there", "pwd; echo x > made; cat made", b.ws + "\nx\n"},
		{"what lies beside it is not", "cat " + b.root + "/beside/secret", "No such file"},
		{"nor can it be listed", "ls -A " + b.root, "=home\nprograms\nreal\nws"},
		{"in /tmp is nothing else", "ls -A /tmp | grep -v ^Test", "="},
		{"and it is writable", "echo y > /tmp/y; cat /tmp/y", "=y"},
		{"so is /var/tmp", "ls -A /var/tmp; echo z > /var/tmp/z; cat /var/tmp/z", "=z"},
		{"programs below /tmp run", programs + "/one", "=one runs"},
		{"and read what lies beside them", "cat " + programs + "/in/library", "=secret of a program"},
		{"those that are only links run as well", programs + "/two", "=two runs"},
		{"a link that leads nowhere does no harm", programs + "/three", "not found"},
		{"nobody changes them", "echo x > " + programs + "/one", "Read-only file system"},
		{"nor what they link to", "echo x > " + b.root + "/real/two", "Read-only file system"},
		{"/run is empty", "ls -A /run", "="},
		{"and stays so", "echo x > /run/x", "Read-only file system"},
		{"of devices there are few", "ls /dev", "=fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero"},
		{"they work", "head -c 2 /dev/zero | wc -c; echo x > /dev/null; head -c 4 /dev/urandom | wc -c; echo y > /dev/stdout", "=2\n4\ny"},
		{"nobody makes others", "mknod /tmp/device b 254 0 || mknod made-device c 1 3 || echo refused", "refused"},
		{"shared memory is private", "ls -A /dev/shm; echo x > /dev/shm/x; cat /dev/shm/x", "=x"},
		{"tipstaff's own records are hidden", "cat state/key", "Permission denied"},
		{"and cannot be moved away", "mv state other", "busy"},
		{"/proc shows the command itself", "cat /proc/self/comm /proc/$$/comm", "=cat\nsh"},
		{"and nobody else", "cd /proc; set -- [0-9]*; echo $#", "=2"},
	})
	if got := exists(b.ws + "/made"); got != "there" {
		t.Errorf("what a command made in its workspace is %s", got)
	}
}

// TestAServerMayBeStartedInADirectoryThatIsCovered, or around all of them: that does
// not bring what lies there, and what is hidden there needs no place to be hidden in.
func TestAServerMayBeStartedInADirectoryThatIsCovered(t *testing.T) {
	newBox(t, Namespaces) // where there are none, this is skipped
	for _, dir := range []string{"/tmp", "/"} {
		t.Run(dir, func(t *testing.T) {
			b := newBox(t, Namespaces, func(b *box, o *Options) {
				o.Mode, o.Directory, o.Workspace = Require, dir, []string{b.ws}
				o.Machine.StateDir = b.root + "/state"
				b.write(b.root+"/state/key", "secret")
				b.write(b.root+"/beside/secret", "secret")
			})
			b.all([]try{
				{"the workspace is there", "echo x > made; cat made", "=x"},
				{"the records are not", "cat " + b.root + "/state/key", "No such file"},
				{"nor is what else lies in /tmp", "cat " + b.root + "/beside/secret", "No such file"},
			})
		})
	}
}

func TestAWorkspaceInVarTmpIsThere(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "tipstaff-test-*") //nolint:usetesting // not in /tmp
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := newBox(t, Namespaces, func(b *box, o *Options) { b.ws, o.Directory = dir, dir })
	b.all([]try{
		{"it is the directory", "pwd; echo x > made; cat made", "=" + dir + "\nx"},
		{"and alone there", "ls -A /var/tmp", "=" + filepath.Base(dir)},
	})
}

// TestADirectoryOfProgramsMayGo: PATH names many that come and go.
func TestADirectoryOfProgramsMayGo(t *testing.T) {
	b := newBox(t, Namespaces, func(b *box, o *Options) {
		o.Search = []string{b.root + "/gone", "/usr/bin"}
		b.mkdir(o.Search[0])
	})
	b.must(os.Remove(b.root + "/gone"))
	if o, err := b.run(Command{Session: "new", Dir: b.ws}, "echo x"); err != nil || o.text != "x\n" {
		t.Errorf("without it: %v, %q", err, o.text)
	}
}

// TestWhatNobodyGetsToNeedsNotBeHidden: a server that is root sees the keys in the
// homes of others, where its commands do not get to and no mount can be made.
func TestWhatNobodyGetsToNeedsNotBeHidden(t *testing.T) {
	if !isRoot(t) {
		t.Skip("only root sees what it could not without capabilities")
	}
	newBox(t, Namespaces)
	b := newWorld(t)
	theirs := b.ws + "/theirs"
	b.write(theirs+"/key", "secret\n")
	b.write(theirs+"/more/key", "secret\n")
	b.write(b.ws+"/mine", "secret\n")
	b.must(os.Chmod(theirs, 0o700))
	b.must(os.Chown(theirs, 65534, 65534))
	o := b.options(Namespaces)
	o.Machine.ConfigFiles = []string{theirs + "/key", theirs + "/more", b.ws + "/mine"}
	s, err := New(o)
	b.must(err)
	b.Sandbox = s
	defer func() { b.must(s.Close()) }()
	if got := s.Status(); got.Tier != "namespaces" {
		t.Fatalf("it is %s: %s", got.Tier, got.Reason)
	}
	b.all([]try{
		{"the keys of others", not("cat theirs/key theirs/more/key"), "=refused"},
		{"what can be hidden is", not("grep . mine"), "=refused"},
	})
}

// TestTheSandboxsOwnDirectoryIsOutOfSight: the temporary directories of other
// sessions lie in it, and the files that stand in the place of others.
func TestTheSandboxsOwnDirectoryIsOutOfSight(t *testing.T) {
	for _, c := range []struct {
		says    string
		options func(*box, *Options)
	}{
		{"where it is in /tmp, as usual", func(*box, *Options) {}},
		{"where it is in the workspace", func(b *box, o *Options) { b.temp, o.Temp = b.ws, b.ws }},
		{"where the workspace is around it", func(b *box, o *Options) { b.ws, o.Directory = b.root, b.root }},
		{"where a workspace in /var/tmp is around it", func(b *box, o *Options) {
			dir, err := os.MkdirTemp("/var/tmp", "tipstaff-test-*") //nolint:usetesting // not in /tmp
			if err != nil {
				b.t.Skip(err)
			}
			b.t.Cleanup(func() { _ = os.RemoveAll(dir) })
			b.ws, o.Directory, b.temp, o.Temp = dir, dir, dir+"/temp", dir+"/temp"
			b.mkdir(b.temp)
		}},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBox(t, Namespaces, c.options)
			b.in("other", "echo secret > $TMPDIR/secret")
			theirs := tempOf(b.sandboxOf("other").dir)
			if got := exists(theirs + "/secret"); got != "there" {
				t.Fatalf("outside the file of the other session is %s", got)
			}
			b.all([]try{
				{"it cannot be read", "cat " + theirs + "/secret || echo refused", "refused"},
				{"nor listed", "ls -A " + b.scratch.dir + " || echo refused", "refused"},
				{"nor written", "echo x > " + theirs + "/x || echo refused", "refused"},
				{"nor moved away", "mv " + b.scratch.dir + " moved || echo refused", "refused"},
				{"nor what it lies in", "mv " + b.temp + " moved || echo refused", "refused"},
				{"the own one is of use", "echo mine > $TMPDIR/mine; cat $TMPDIR/mine", "=mine"},
				{"and what lies beside is", "echo x > beside; cat beside", "=x"},
			})
		})
	}
}

// TestALinkInTheWorkspaceOpensNothing: only directories of programs have their
// links followed. A command could make one in its workspace, and wait for the
// next session sandbox.
func TestALinkInTheWorkspaceOpensNothing(t *testing.T) {
	b := newBox(t, Namespaces)
	b.write(b.root+"/beside/secret", "secret of somebody else")
	b.sh("ln -s " + b.root + "/beside link; ln -s " + b.root + "/beside/secret file")
	for _, session := range []string{"", "new"} {
		if got := b.in(session, "cat link/secret file").text; strings.Contains(got, "somebody else") {
			t.Errorf("session %q read what nobody showed it: %q", session, got)
		}
	}
}

// TestALinkInATemporaryDirectoryLeadsTheServerNowhere: the server makes places
// for mounts where commands can write.
// TestALinkInTheServersOwnDirectoryOpensNothingReadOnly: commands cannot make one
// under this profile, but those of the server before could.
func TestALinkInTheServersOwnDirectoryOpensNothingReadOnly(t *testing.T) {
	for _, p := range []profile.Profile{profile.Workspace, profile.ReadOnly} {
		b := newBox(t, Namespaces, func(b *box, o *Options) {
			if b.write(b.root+"/theirs/file", "secret\n"); !strings.HasPrefix(b.root, "/tmp/") {
				t.Skipf("what lies in %s can be seen anyway", b.root)
			}
			b.link(b.root+"/theirs/file", b.ws+"/bin/tool")
			b.write(b.root+"/other", "x\n")
			b.link(b.root+"/other", b.ws+"/tool")
			o.Profile, o.Search = p, []string{b.ws + "/bin", b.ws, "/usr/bin"}
		})
		b.all([]try{
			{"in a directory of programs that lies in it", not("cat bin/tool"), "=refused"},
			{"in the directory itself", not("cat tool"), "=refused"},
			{"nothing is made there", not("ln -s /etc/passwd bin/new"), map[profile.Profile]string{profile.Workspace: "=done", profile.ReadOnly: "=refused"}[p]},
		})
	}
}

func TestALinkInATemporaryDirectoryLeadsTheServerNowhere(t *testing.T) {
	b := newBox(t, Namespaces)
	outside := b.root + "/outside"
	b.mkdir(outside)
	if !strings.HasPrefix(b.root, "/tmp/") {
		t.Skip("the tests' own directories do not lie in /tmp")
	}
	b.sh("ln -s " + outside + " " + b.home) // a directory of their own, in which nothing of the home is
	b.mkdir(b.home + "/.npm")               // now something in it is to be writable
	b.next()
	if names := inside(t, outside); len(names) > 0 {
		t.Errorf("the server made %v outside", names)
	}
	b.all([]try{{"what was put in the way keeps nothing from being brought up to date", "echo x > $HOME/.npm/x && echo made", "=made"}})
}
