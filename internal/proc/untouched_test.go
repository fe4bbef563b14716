//go:build linux && (amd64 || arm64)

package proc

import (
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestWhatACommandLeavesInItsNamespacesIsNoticed(t *testing.T) {
	e, testcmd := newEngine(t), testcmdtest.Build(t)
	for _, c := range []struct {
		says, script string
		untouched    bool
	}{
		{"nothing", "true", true},
		{"shared memory", testcmd + " leave shm", false},
		{"semaphores", testcmd + " leave sem", false},
		{"a message queue of System V", testcmd + " leave msg", false},
		{"a message queue of POSIX", testcmd + " leave mq", false},
		{"a process", "trap '' TERM; sleep 1000 > /dev/null 2>&1 &", false},
	} {
		n := enclose(t, e, &NamespaceSpec{ReadOnly: true})
		if !n.Untouched() {
			t.Fatal("new namespaces do not count as untouched")
		}
		got := inside(t, n, "/", c.script)
		if got != "" {
			t.Errorf("%s: the command said %q", c.says, got)
		}
		if n.Untouched() != c.untouched {
			t.Errorf("%s was left, and the namespaces are untouched: %v", c.says, !c.untouched)
		}
	}
}

func TestAnEnclosureThatRestsMakesWhatItNeeds(t *testing.T) {
	n := enclose(t, newEngine(t), &NamespaceSpec{ReadOnly: true})
	n.Rest(0)
	if got := n.instances.Load(); got != 0 || n.Untouched() {
		t.Errorf("%d instances are left", got)
	}
	if got := inside(t, n, "/", "echo x"); got != "x\n" {
		t.Errorf("the next command printed %q", got)
	}
	if got := n.instances.Load(); got != 1 {
		t.Errorf("there are %d instances", got)
	}
	n.Rest(1)
	if got := n.instances.Load(); got != 1 || !n.Untouched() {
		t.Errorf("%d instances are kept", got)
	}
}
