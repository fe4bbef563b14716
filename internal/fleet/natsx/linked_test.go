package natsx_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheServerIsLinkedWithItsTagOnly: it is large, and a server that listens has
// no business in a program that does not need one.
func TestTheServerIsLinkedWithItsTagOnly(t *testing.T) {
	t.Parallel()
	for tags, linked := range map[string]bool{"": false, "embednats": true} {
		out, err := exec.Command("go", "list", "-deps", "-tags", tags, "tipstaff/internal/fleet/natsx").Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if got := strings.Contains(string(out), "nats-server"); got != linked {
			t.Errorf("with the tags %q the server is linked: %t", tags, got)
		}
	}
}
