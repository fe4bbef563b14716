package main

import (
	"testing"

	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/server/config"
)

// TestEverySettingHasItsMeaning, and nothing else has.
func TestEverySettingHasItsMeaning(t *testing.T) {
	list := config.Variables(nil)
	for _, v := range list {
		if meanings[v.Name] == "" {
			t.Errorf("%s has none: say in topics.go what it is", v.Name)
		}
	}
	if len(meanings) != len(list) {
		t.Errorf("%d meanings of %d settings", len(meanings), len(list))
	}
}

func TestTheToolsAreCompleted(t *testing.T) {
	if got := mcpserver.ToolNames(false); len(got) < 2 || got[0] != "execute_command" {
		t.Errorf("%q", got)
	}
	if all, some := mcpserver.ToolNames(true), mcpserver.ToolNames(false); len(all) <= len(some) {
		t.Errorf("%q, %q", all, some)
	}
}
