//go:build linux

package sandbox

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"tipstaff/internal/sandbox/profile"
)

// nobody is a user who is not root.
const nobody = 65534

// newForeignBox makes a sandbox of root in a workspace of somebody else's.
func newForeignBox(t *testing.T, tier Tier, mode os.FileMode, log *strings.Builder) *box {
	t.Helper()
	if !isRoot(t) {
		t.Skip("only root is kept from what it could do with capabilities")
	}
	b := newWorldOutside(t)
	b.write(b.ws+"/file", "theirs\n")
	b.must(os.Chmod(b.ws+"/file", 0o644))
	b.must(os.Chown(b.ws+"/file", nobody, nobody))
	b.must(os.Chown(b.ws, nobody, nobody))
	b.must(os.Chmod(b.ws, mode))
	return b.confine(tier, func(_ *box, o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
}

// TestARootServerInAWorkspaceOfAnotherUserSaysThatCommandsCannotWriteThere: doctor
// prints the notes, and the start warns once.
func TestARootServerInAWorkspaceOfAnotherUserSaysThatCommandsCannotWriteThere(t *testing.T) {
	for mode, want := range map[os.FileMode]string{0o755: "cannot be written by commands", 0o750: "cannot be entered by commands", 0o777: ""} {
		eachTier(t, func(t *testing.T, tier Tier) {
			var log strings.Builder
			b := newForeignBox(t, tier, mode, &log)
			notes := slices.DeleteFunc(b.Status().Notes, func(n string) bool { return !strings.Contains(n, "by commands: it belongs to") })
			if confined, err := b.Confine(Command{Session: "one", Dir: b.ws}); err == nil {
				confined.Release() // a session sandbox of its own
			}
			b.work.Wait()
			warnings := strings.Count(log.String(), "by commands: it belongs to user 65534")
			if want == "" {
				if len(notes) > 0 || warnings > 0 {
					t.Errorf("mode %v: notes %q, log %q", mode, notes, log.String())
				}
				return
			}
			if len(notes) != 1 || !strings.Contains(notes[0], want) || !strings.Contains(notes[0], "run the server as that user") || warnings != 1 {
				t.Errorf("mode %v: notes %q, log %q", mode, notes, log.String())
			}
		})
	}
}

func TestWhatOnlyAnotherUserMayWriteIsExplainedToRootsCommands(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		var log strings.Builder
		b := newForeignBox(t, tier, 0o755, &log)
		theirs := b.ws + " belongs to user 65534 with mode 0755, and commands have no capabilities here"
		for script, want := range map[string]string{
			"echo x > new":  theirs,
			"mkdir dir":     theirs,
			"echo x > file": b.ws + "/file belongs to user 65534",
			"cat file":      "",
		} {
			got := b.sh(script)
			if want == "" && (got.ExitCode != 0 || len(got.Refusals) > 0) || want != "" && (len(got.Refusals) != 1 || !strings.Contains(got.Refusals[0], want)) {
				t.Errorf("%s printed %q; said is %q", script, got.text, got.Refusals)
			}
		}
	})
}

// TestToLookIntoSomebodyElsesDirectoryIsNoWriting: root's own rights would open it,
// its commands' do not, and nobody wanted to write.
func TestToLookIntoSomebodyElsesDirectoryIsNoWriting(t *testing.T) {
	if !isRoot(t) {
		t.Skip("only root is kept from what it could do with capabilities")
	}
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newWorldOutside(t)
		theirs := b.root + "/movies" // a name in which "mov" is no deed
		b.write(theirs+"/file", "x\n")
		b.must(os.Chown(theirs, nobody, nobody))
		b.must(os.Chmod(theirs, 0o750))
		b.confine(tier, furnished(profile.Workspace))
		for _, script := range []string{"ls " + theirs, "cat " + theirs + "/file", "ls " + theirs + "/nothing", "cd " + theirs} {
			if got := b.sh(script); got.ExitCode == 0 || len(got.Refusals) > 0 {
				t.Errorf("%s printed %q; said is %q", script, got.text, got.Refusals)
			}
		}
	})
}
