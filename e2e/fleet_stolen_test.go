//go:build linux && !race

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
	"tipstaff/internal/fleet/replicate"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

var usersOf = regexp.MustCompile(`(?s)    users: \[\n(.*?)\n    \]\n`)

// oneAccount is the printed configuration with the same users and permissions in one account:
// what JetStream answers then goes wherever its asker says.
func (m *machines) oneAccount() string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.files, "nats.conf"))
	if err != nil {
		m.t.Fatal(err)
	}
	head, accounts, _ := strings.Cut(string(text), "\naccounts {\n")
	var users []string
	for _, u := range usersOf.FindAllStringSubmatch(accounts, -1) {
		users = append(users, u[1])
	}
	return head + "\nauthorization {\n  users: [\n" + strings.Join(users, "\n") + "\n  ]\n}\n"
}

// TestAStolenRunnersKeyTakesNoCallsAndStopsNone: by such a key 30 of 40 calls went to the
// thief, the copy of another runner's trail stopped for good and with "strict" each command,
// and a named call ran twice. Each is tried where NATS keeps it from going anywhere, and
// where NATS delivers it and members have to pass it over.
func TestAStolenRunnersKeyTakesNoCallsAndStopsNone(t *testing.T) {
	testcmdtest.Long(t)
	for name, delivered := range map[string]bool{"as the configuration is": false, "in one account": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := guard(t)
			if delivered {
				m.nats.Stop()
				m.write("one.conf", m.oneAccount())
				m.nats = enginetest.StartFile(t, filepath.Join(m.files, "one.conf"))
			}
			r2 := m.runner("r2", setup{env: []string{"TIPSTAFF_ENGINE_AUDIT=strict"}})
			w := m.gateway("g1", setup{})
			a := w.as(alices, stateless)
			m.known(a, 1)
			trails, _ := filepath.Glob(filepath.Join(r2.State, "audit", "*-*"))
			if len(trails) != 1 {
				t.Fatalf("trails: %q", trails)
			}
			named := kit.Args{"command_id": "mine-1"}
			a.On(t).Command("echo named", named).Ran()
			claim := sha256.Sum256([]byte("token:alice\x00mine-1"))
			thief, self := m.nats.Thief(t, "r1", filepath.Join(m.files, "r1.nk")), natsx.Address{Name: "r1", InstanceID: natsx.NewInstanceID()}
			copied := replicate.Source{Name: "r2", Trail: filepath.Base(trails[0])}.Subject()
			for i := range 40 {
				ghost := natsx.Address{Name: "r2", InstanceID: natsx.NewInstanceID()}
				thief.HasSent(`{"version":"x","capacity":1000000,"cpus":1000}`, "$KV.tip1_runners.r."+ghost.String())
				thief.HasSent("forged", copied)
				thief.HasSent(self.String(), "$KV.tip1_claims."+hex.EncodeToString(claim[:]))
				if r := a.On(t).Command("echo " + fmt.Sprint(i)); r.IsError || r.YAML().Stdout != fmt.Sprintln(i) {
					t.Fatalf("call %d: %+v", i, r)
				}
			}
			if r := a.On(t).Command("echo named", named).Ran(); r.Stdout != "named\n" {
				t.Errorf("%+v", r)
			}
			starts := 0
			for _, r := range r2.Records() {
				if r["event"] == "command.start" && strings.Contains(fmt.Sprint(r), "named") {
					starts++
				}
			}
			if starts != 1 {
				t.Errorf("the named call was started %d times", starts)
			}
			auditor := []string{"PATH=/usr/bin:/bin", "HOME=" + m.files, "TIPSTAFF_STATE_DIR=" + m.files, "TIPSTAFF_ENGINE_CREDENTIALS=" + filepath.Join(m.files, "auditor.nk")}
			out, _ := tipstaff(t, auditor, "audit", "verify", "--engine", m.nats.URL(), "r2")
			if !strings.Contains(out, "ok  ") || strings.Contains(out, "not signed by the member") != delivered {
				t.Errorf("the copy:\n%s", out)
			}
			if _, body := w.fetch("GET", "/metrics", master, ""); strings.Contains(body, `tipstaff_engine_faults_total{kind="foreign",role="gateway"} 0`) == delivered {
				t.Errorf("what was passed over is not counted, or nothing was:\n%s", body)
			}
		})
	}
}
