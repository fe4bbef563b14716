//go:build unix && !race

package e2e

import (
	"testing"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestT5OverHTTPMemoryStaysBoundedWhateverACommandPrints(t *testing.T) {
	testcmdtest.Long(t)
	eachEra(t, func(t *testing.T, version string) {
		w := serveHTTP(t, setup{env: []string{"ALLOWED_COMMANDS=head,echo"}})
		c := w.as(alices, version)
		c.Command("echo warm").Ran()
		idle := memory(w.Server, "VmRSS")
		for range 3 { // what one round leaves must not add up
			if b := c.Command("head -c 4294967296 /dev/zero", kit.Args{"timeout_ms": 120_000, "raw": true}).Ran(); !b.Truncated {
				t.Error("it is not truncated")
			}
		}
		above := memory(w.Server, "VmHWM") - idle
		t.Logf("3 × 4 GiB of output cost %d MiB above idle", above>>20)
		if above > 64<<20 {
			t.Errorf("that is more than 64 MiB")
		}
	})
}
