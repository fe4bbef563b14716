//go:build linux && !race

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAReplacedGitconfigIsFollowedAtOnce: git and editors write a file beside it and rename
// that over it. The next command sees the new one, in the home and with the home as the
// workspace; what is hidden stays hidden when it is replaced.
func TestAReplacedGitconfigIsFollowedAtOnce(t *testing.T) {
	inEachTier(t, func(t *testing.T, tier string) {
		for _, where := range []string{"project", "."} {
			t.Run("in "+where, func(t *testing.T) {
				home := filepath.Join(outsideOfTemp(t), "home")
				for _, dir := range []string{"project", ".ssh"} {
					if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				replace := func(name, content string) {
					path := filepath.Join(home, name)
					if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.Rename(path+".new", path); err != nil {
						t.Fatal(err)
					}
				}
				replace(".ssh/id_rsa", "first secret")
				replace(".netrc", "first secret")
				s := startedIn(t, tier, filepath.Join(home, where), home)
				see := func() string {
					r := s.Process("sh", []string{"-c", "git config --global --get-all user.name; cat ~/.netrc ~/.ssh/id_rsa; true"}).YAML()
					return r.Stdout + r.Stderr
				}
				if said := see(); strings.Contains(said, "secret") || strings.Contains(said, "unable to access") {
					t.Errorf("before there is one: %q", said)
				}
				for _, name := range []string{"one", "another", "a third"} {
					replace(".gitconfig", "[user]\n\tname = "+name+"\n")
					replace(".netrc", "secret of "+name)
					replace(".ssh/id_rsa", "secret of "+name)
					if said := see(); !strings.HasPrefix(said, name+"\n") || strings.Contains(said, "secret") {
						t.Errorf("with the name %q: %q", name, said)
					}
				}
			})
		}
	})
}
