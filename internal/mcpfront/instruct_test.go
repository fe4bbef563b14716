package mcpfront

import (
	"strings"
	"testing"
	"tipstaff"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestClientsAreToldTheRulesAsTheyAreWhenTheyConnect: the policy may have been
// read again since the server was made.
func TestClientsAreToldTheRulesAsTheyAreWhenTheyConnect(t *testing.T) {
	r := &road{}
	o := r.options()
	now := "the first rules"
	o.Instructions = func(tipstaff.Origin) string { return now }
	s := NewServer(o)
	told := func() string {
		t.Helper()
		fromClient, toServer := mcp.NewInMemoryTransports()
		session, err := s.mcp.Connect(t.Context(), fromClient, nil)
		if err != nil {
			t.Fatal(err)
		}
		client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), toServer, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = client.Close(), session.Wait() }()
		return client.InitializeResult().Instructions
	}
	if got := told(); got != now {
		t.Errorf("told %q", got)
	}
	now = "other rules"
	if got := told(); got != now {
		t.Errorf("after they changed, told %q", got)
	}
}

func TestInstructionsSayWhatThePolicyFileAllows(t *testing.T) {
	text := Instructions(Summary{Rules: []string{"git: status|log *; with approval: push"}, Listed: true, Allowed: []string{"git"}})
	for _, want := range []string{"operator's policy", "- git: status|log *; with approval: push", "may run: git."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
