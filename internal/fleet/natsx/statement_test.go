package natsx_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"tipstaff/internal/fleet/natsx"
)

// seedFile writes a new user's key and returns its file and its public half.
func seedFile(t testing.TB) (file, public string) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	public, err = key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(file, append([]byte("# a key\n"), seed...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, public
}

// talk is a gateway and a runner that knows its key, with a clock each.
type talk struct {
	gateway, runner natsx.Address
	signer          *natsx.Signer
	verifier        *natsx.Verifier
	there, here     time.Time // the gateway's clock and the runner's
}

func newTalk(t testing.TB) *talk {
	t.Helper()
	start := time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)
	k := &talk{gateway: member("g1"), runner: member("r1"), there: start, here: start}
	file, public := seedFile(t)
	var err error
	k.signer, err = natsx.NewSigner(file, k.gateway, func() time.Time { return k.there })
	if err != nil {
		t.Fatal(err)
	}
	k.verifier = natsx.NewVerifier(k.runner, natsx.Gateways{public: "g1"}, func() time.Time { return k.here })
	return k
}

func (k *talk) sign(t testing.TB, message string) []byte {
	t.Helper()
	b, err := k.signer.Sign(natsx.Statement{
		Runner: k.runner.String(), Verb: "call", Tool: "execute_command", Command: "c1",
		Caller: natsx.Caller{Front: "http", Principal: "alice", Tenant: "blue"},
	}, []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (k *talk) reason(statement []byte, message string) natsx.Reason {
	_, err := k.verifier.Verify(statement, []byte(message))
	var r *natsx.Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	if err != nil {
		return natsx.Reason(err.Error())
	}
	return ""
}

func TestAStatementSaysWhoAsks(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	st, err := k.verifier.Verify(k.sign(t, "ls"), []byte("ls"))
	if err != nil {
		t.Fatal(err)
	}
	if st.Caller.Principal != "alice" || st.Caller.Tenant != "blue" || st.Tool != "execute_command" || st.Command != "c1" || st.Gateway != k.gateway.String() {
		t.Errorf("got %+v", st)
	}
	if d := st.NotAfter.Sub(st.Issued); d != natsx.Validity {
		t.Errorf("it counts for %v", d)
	}
}

func TestAStatementThatDoesNotCountIsRefusedByItsReason(t *testing.T) {
	t.Parallel()
	const sig = 64
	for name, tt := range map[string]struct {
		change func(t *testing.T, k *talk, s []byte) []byte
		want   natsx.Reason
	}{
		"nothing is changed":       {func(_ *testing.T, _ *talk, s []byte) []byte { return s }, ""},
		"there is none":            {func(*testing.T, *talk, []byte) []byte { return nil }, natsx.Unsigned},
		"a signature of nothing":   {func(_ *testing.T, _ *talk, s []byte) []byte { return s[:sig] }, natsx.Unsigned},
		"not JSON":                 {func(_ *testing.T, _ *talk, s []byte) []byte { return append(s[:sig:sig], "ls"...) }, natsx.Unsigned},
		"an endless one":           {func(_ *testing.T, _ *talk, s []byte) []byte { return append(s, make([]byte, 1<<20)...) }, natsx.Unsigned},
		"one bit of the signature": {func(_ *testing.T, _ *talk, s []byte) []byte { s[3] ^= 1; return s }, natsx.BadSignature},
		"another principal":        {replace(`"principal":"alice"`, `"principal":"admin"`), natsx.BadSignature},
		"a longer life":            {replace(`"not_after":"2026-11-23T14:00:15Z"`, `"not_after":"2027-11-23T14:00:15Z"`), natsx.BadSignature},
		"another version":          {replace(`{"v":1,`, `{"v":2,`), natsx.OtherVersion},
		"no version":               {replace(`{"v":1,`, `{`), natsx.OtherVersion},
		"another gateway's key": {func(t *testing.T, k *talk, _ []byte) []byte {
			o := newTalk(t)
			o.runner = k.runner
			return o.sign(t, "ls")
		}, natsx.UnknownSigner},
		"another gateway's name": {func(t *testing.T, k *talk, s []byte) []byte {
			k.verifier.SetGateways(natsx.Gateways{key(t, s): "g2"})
			return s
		}, natsx.UnknownSigner},
		"no gateway is known":                {func(_ *testing.T, k *talk, s []byte) []byte { k.verifier.SetGateways(nil); return s }, natsx.UnknownSigner},
		"another runner":                     {func(t *testing.T, k *talk, _ []byte) []byte { k.runner.Name = "r2"; return k.sign(t, "ls") }, natsx.OtherRecipient},
		"the runner's start before this":     {func(t *testing.T, k *talk, _ []byte) []byte { k.runner = member("r1"); return k.sign(t, "ls") }, natsx.OtherRecipient},
		"another message":                    {func(t *testing.T, k *talk, _ []byte) []byte { return k.sign(t, "rm -rf /") }, natsx.OtherMessage},
		"it came late":                       {func(_ *testing.T, k *talk, s []byte) []byte { k.here = k.here.Add(26 * time.Second); return s }, natsx.TooOld},
		"it came a little late":              {func(_ *testing.T, k *talk, s []byte) []byte { k.here = k.here.Add(24 * time.Second); return s }, ""},
		"the runner's clock is an hour fast": {func(_ *testing.T, k *talk, s []byte) []byte { k.here = k.here.Add(time.Hour); return s }, natsx.TooOld},
		"the runner's clock is an hour slow": {func(_ *testing.T, k *talk, s []byte) []byte { k.here = k.here.Add(-time.Hour); return s }, natsx.FromFuture},
		"the clocks are 9 seconds apart":     {func(_ *testing.T, k *talk, s []byte) []byte { k.here = k.here.Add(-9 * time.Second); return s }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t)
			s := tt.change(t, k, k.sign(t, "ls"))
			if got := k.reason(s, "ls"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func replace(from, to string) func(t *testing.T, k *talk, s []byte) []byte {
	return func(t *testing.T, _ *talk, s []byte) []byte {
		t.Helper()
		out := strings.Replace(string(s), from, to, 1)
		if out == string(s) {
			t.Fatalf("%s does not stand in %s", from, s[64:])
		}
		return []byte(out)
	}
}

func key(t *testing.T, s []byte) string {
	t.Helper()
	var st natsx.Statement
	if err := json.Unmarshal(s[64:], &st); err != nil {
		t.Fatal(err)
	}
	return st.Key
}

func TestAStatementCountsOnceWhateverTheClocksDo(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	s := k.sign(t, "ls")
	if got := k.reason(s, "ls"); got != "" {
		t.Fatal(got)
	}
	if got := k.reason(s, "ls"); got != natsx.Replayed {
		t.Errorf("a second time: %q", got)
	}
	start := k.here
	for _, step := range []time.Duration{20 * time.Second, 40 * time.Second, 80 * time.Second, 200 * time.Second} {
		k.here, k.there = start.Add(step), start.Add(step)
		if got := k.reason(k.sign(t, "ls"), "ls"); got != "" {
			t.Errorf("a new one after %v: %q", step, got)
		}
	}
	k.here = start // the clock is set back, when the first one is long forgotten
	if got := k.reason(s, "ls"); got != natsx.TooOld && got != natsx.Replayed {
		t.Errorf("after the clock was set back: %q", got)
	}
	k.here = start.Add(300 * time.Second)
	k.there = k.here
	if got := k.reason(k.sign(t, "ls"), "ls"); got != "" {
		t.Errorf("with the clock right again: %q", got)
	}
}

func TestMemoryForStatementsIsBounded(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	k.verifier.SetRemembered(5)
	for range 5 {
		if got := k.reason(k.sign(t, "ls"), "ls"); got != "" {
			t.Fatal(got)
		}
	}
	if got := k.reason(k.sign(t, "ls"), "ls"); got != natsx.TooMany {
		t.Errorf("one more: %q", got)
	}
	k.here, k.there = k.here.Add(time.Minute), k.there.Add(time.Minute)
	if got := k.reason(k.sign(t, "ls"), "ls"); got != "" {
		t.Errorf("a minute later: %q", got)
	}
}

func TestKeysOfGatewaysAreReadStrictly(t *testing.T) {
	t.Parallel()
	seed, public := seedFile(t)
	secret, err := os.ReadFile(seed)
	if err != nil {
		t.Fatal(err)
	}
	bare := strings.TrimSpace(strings.TrimPrefix(string(secret), "# a key\n"))
	for name, tt := range map[string]struct{ text, want string }{
		"a key and its name":   {"# ours\n\n" + public + " g1 # the first\n", ""},
		"nothing":              {"# ours\n", "names no gateway"},
		"a key without a name": {public, "a space and the gateway's name"},
		"a word":               {"hello g1", "no public key"},
		"a name with a dot":    {public + " a.b", "cannot be the name"},
		"a key twice":          {public + " g1\n" + public + " g2\n", "line 2"},
		"a seed":               {bare + " g1", "holds a seed"},
	} {
		file := filepath.Join(t.TempDir(), "gateways")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := natsx.ReadGateways(file)
		if tt.want == "" {
			if err != nil || g[public] != "g1" {
				t.Errorf("%s: %v, %v", name, g, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), bare) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerifyTakesNothingThatIsNotSigned(f *testing.F) {
	k := newTalk(f)
	good := k.sign(f, "ls")
	f.Add(good[:64], good[64:])
	f.Add([]byte("x"), []byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, sig, body []byte) {
		s := append(append([]byte{}, sig...), body...)
		st, err := k.verifier.Verify(s, []byte("ls"))
		if err == nil && string(s) != string(good) {
			t.Errorf("%q counts: %s", s, fmt.Sprint(st))
		}
	})
}
