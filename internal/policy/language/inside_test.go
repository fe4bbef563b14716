package language_test

import (
	"slices"
	"testing"

	"tipstaff/internal/policy/language"
)

// TestInsideEveryCommandIsConfined: whatever a file leaves out, the bounds of each of
// its commands are those of a confined one; a runner that cannot keep them runs nothing.
func TestInsideEveryCommandIsConfined(t *testing.T) {
	for text, want := range map[string][]string{
		"version: 1\ndefault: inside\n":                                                                                       nil,
		"version: 1\ndefault: inside\ncommands: {git: {ask: [push]}}\n":                                                       nil,
		"version: 1\ndefault: inside\nsandbox: {network: [a.test]}\n":                                                         {"a.test"},
		"version: 1\ndefault: inside\nsandbox: {network: [a.test]}\ncommands: {git: {network: [b.test]}}\n":                   {"a.test", "b.test"},
		"version: 1\ndefault: inside\nsandbox: {network: [a.test]}\ncommands: {git: {network: off}}\n":                        nil,
		"version: 1\ndefault: inside\nsandbox: {profile: read-only, network: [a.test]}\ncommands: {'*': {network: [b.test]}}": {"a.test", "b.test"},
	} {
		p, err := load(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		b := p.Bounds("git", language.Who{})
		if b.Tier != "landlock" || b.Profile != "workspace" && b.Profile != "read-only" || !b.Network.Limited {
			t.Errorf("%s: tier %q, profile %q, network %+v", text, b.Tier, b.Profile, b.Network)
		}
		if !slices.Equal(b.Network.Hosts, want) {
			t.Errorf("%s: %v, want %v", text, b.Network.Hosts, want)
		}
		// Another program gets nothing of what the line of git grants.
		if hosts := p.Bounds("sh", language.Who{}).Network.Hosts; slices.Contains(hosts, "b.test") && slices.Contains(p.Known(), "git") {
			t.Errorf("%s: sh reaches %v", text, hosts)
		}
	}
	// The control: without it, a file confines nothing that it does not name.
	p, err := load("version: 1\ncommands: {git: {ask: [push]}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if b := p.Bounds("git", language.Who{}); b.Tier != "" || b.Profile != "" || b.Network.Limited {
		t.Errorf("%+v", b)
	}
}
