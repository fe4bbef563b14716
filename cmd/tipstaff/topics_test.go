package main

import (
	"strings"
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

func TestMisspeltVariablesAreNamedWithTheirNearest(t *testing.T) {
	got := strings.Join(misspelt([]string{
		"TIPSTAFF_SANDBX=off", "TIPSTAFF_NOTHING_LIKE_IT=1", "TIPSTAF_SANDBOX=off", "ALLOWED_COMANDS=ls", "ENABLE_TERMINAL_ACCES=true",
		"TERMINAL_MAX_SESSION=5", "TERMINAL_MAX_OUTPUT=5", "ENABLE_TERMNAL_ACCESS=true", "TERMINAL_SESSIONS=5", "TERMINAL_OUTPUT_SIZE=5", "TERMINAL_CWD=/", "TIPSTAFF_ALLOWED_COMMANDS=ls",
		// Those of others are left alone: of JetBrains, of a container platform, of web frameworks.
		"TERMINAL_EMULATOR=JetBrains-JediTerm", "TERMINAL_PORT=tcp://10.0.0.1:80", "ALLOWED_HOSTS=*", "ENABLE_DEBUG=1", "OTEL_EXPORTER_OTLP_HEADER=x", "PATHS=x", "ALLOWED_COMMANDS=ls", "HOME=/h",
	}), "\n")
	want := "TIPSTAFF_SANDBX; did you mean TIPSTAFF_SANDBOX?\nTIPSTAFF_NOTHING_LIKE_IT" +
		"\nTERMINAL_MAX_SESSION; did you mean TERMINAL_MAX_SESSIONS?\nTERMINAL_MAX_OUTPUT; did you mean TERMINAL_MAX_OUTPUT_SIZE?" +
		"\nTERMINAL_SESSIONS; did you mean TERMINAL_MAX_SESSIONS?\nTERMINAL_OUTPUT_SIZE; did you mean TERMINAL_MAX_OUTPUT_SIZE?\nTERMINAL_CWD\nTIPSTAFF_ALLOWED_COMMANDS; did you mean ALLOWED_COMMANDS?" +
		"\nTIPSTAF_SANDBOX; did you mean TIPSTAFF_SANDBOX?\nALLOWED_COMANDS; did you mean ALLOWED_COMMANDS?\nENABLE_TERMINAL_ACCES; did you mean ENABLE_TERMINAL_ACCESS?\nENABLE_TERMNAL_ACCESS; did you mean ENABLE_TERMINAL_ACCESS?"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestAnAddressIsWrittenOutWhole(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:7075": "http://127.0.0.1:7075/mcp", "https://host": "https://host/mcp", "https://host/x": "https://host/x",
		"http://u:p@host/mcp": "", "ftp://host": "", "https://host/mcp?token=x": "", "https://": "",
	} {
		if got, err := addressOf(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
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
