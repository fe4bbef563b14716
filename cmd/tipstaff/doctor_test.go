package main

import (
	"strings"
	"testing"

	"tipstaff/internal/sandbox"
)

func TestDoctorSaysByWhatCommandsAreBounded(t *testing.T) {
	for _, c := range []struct {
		says string
		l    *sandbox.LimitsStatus
		want string
	}{
		{"without a sandbox", nil, ""},
		{"all well", &sandbox.LimitsStatus{Memory: "a", Processes: "b"}, "✔ memory: a; processes: b\n"},
		{"not so well", &sandbox.LimitsStatus{Memory: "a", Processes: "b", Reason: "it is so"}, "! memory: a; processes: b; not by control groups, because it is so\n"},
	} {
		var out strings.Builder
		printLimits(&out, c.l)
		if out.String() != c.want {
			t.Errorf("%s: %q", c.says, out.String())
		}
	}
}
