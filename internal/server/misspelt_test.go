package server

import (
	"strings"
	"testing"
)

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
