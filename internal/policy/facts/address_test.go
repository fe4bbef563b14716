package facts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tipstaff/internal/testing/testworld"
)

// TestAddressesOfPushesAreThoseOfGit: what is read of random settings is what git says
// itself, whatever puts another address in the place of one.
func TestAddressesOfPushesAreThoseOfGit(t *testing.T) {
	testworld.NeedGit(t)
	tree := testworld.New(t).Make("home/", "work/")
	w := &remotes{Tree: tree, home: tree.At("home"), dir: tree.At("work")}
	w.git("init", "-q", "-b", "main", ".")
	w.git("commit", "-q", "--allow-empty", "-m", "one")
	urls := []string{"gh:me/x", "gh:you/x", "https://host/x", "../there"}
	bases := []string{"https://github.com/", "ssh://git@gh/", "gh:"}
	prefixes := []string{"gh:", "gh:me/", "https://", "https://host/"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	plain := tree.Read("work/.git/config")
	for range 120 {
		var b strings.Builder
		b.WriteString(plain + "[remote \"origin\"]\n")
		for range 1 + random.IntN(2) {
			fmt.Fprintf(&b, "\turl = %s\n", pick(urls))
		}
		for range random.IntN(3) {
			fmt.Fprintf(&b, "\tpushurl = %s\n", pick(urls))
		}
		for range random.IntN(4) {
			fmt.Fprintf(&b, "[url \"%s\"]\n\t%s = %s\n", pick(bases), pick([]string{"insteadOf", "pushInsteadOf"}), pick(prefixes))
		}
		w.write(".git/config", b.String())
		want := strings.Fields(w.Git("work", "remote", "get-url", "--push", "--all", "origin"))
		got := w.read([]string{"push", "origin", "HEAD:refs/heads/main"})
		if !slices.Equal(got.Addresses, want) {
			t.Errorf("read %q, git says %q, of\n%s", got.Addresses, want, b.String())
		}
	}
}
