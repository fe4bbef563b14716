//go:build linux

package sandbox

import (
	"strings"
	"testing"

	"tipstaff"
)

const noNetwork = "Commands have no network here (TIPSTAFF_NETWORK=off), and more time does not change that"

// TestACommandThatMissesTheNetworkIsToldSo: what counts is what the kernel refused, not
// what is printed, nor to whom.
func TestACommandThatMissesTheNetworkIsToldSo(t *testing.T) {
	const reach = ": 3<>/dev/tcp/192.0.2.1/80"
	eachTier(t, func(t *testing.T, tier Tier) {
		for network, says := range map[string]string{"off": noNetwork, "one.example": "only one.example. If the host is one of these", "on": ""} {
			if network == "one.example" && tier == Landlock {
				continue // a list needs namespaces
			}
			t.Run(network, func(t *testing.T) {
				b := newBox(t, tier, listed(network))
				script := func(text string) string { return "exec bash -c '" + text + "'" }
				if network == "on" {
					says, script = "", func(string) string { return "echo curl: \\(7\\) Network is unreachable >&2; false" }
				}
				b.real("bash", script(reach), says)
				b.real("bash", script(reach+" 2>/dev/null"), says)
				b.real("bash", script(reach+" 2>&1 | tail -3; exit 1"), says)
				b.real("curl", script("curl -sS -m 5 http://192.0.2.1/ --noproxy \"*\""), says)
				b.real("bash", script(reach+" || true"), "") // it went on without
				b.real("bash", "exit 1", "")                 // and the next one is not told of it
			})
		}
	})
}

// TestTextAboutTheNetworkIsNotTakenForItsLack: programs print such words for other
// reasons.
func TestTextAboutTheNetworkIsNotTakenForItsLack(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier, listed("off"))
		for _, text := range []string{
			"FileNotFoundError: [Errno 2] No such file or directory: nope.txt", "curl: (6) Could not resolve host: x.example",
			"npm error ERESOLVE unable to resolve dependency tree", "Error: Test timed out in 5000ms", "connect ECONNREFUSED 127.0.0.1:3000",
		} {
			if got := b.sh("echo '" + text + "' >&2; exit 1"); len(got.Refusals) > 0 {
				t.Errorf("of %q is said %q", text, got.Refusals)
			}
		}
	})
}

// TestANameThatNobodyResolvesMayBeTheNetwork: where the name server is an address of the
// machine itself, the kernel sees only a datagram that nobody takes.
func TestANameThatNobodyResolvesMayBeTheNetwork(t *testing.T) {
	b := newBox(t, Namespaces, listed("off"))
	got := b.sh("exec bash -c 'echo x > /dev/udp/127.0.0.53/53; exit 1'")
	if said := strings.Join(got.Refusals, " "); !strings.HasPrefix(said, "It may have tried to reach another host. "+noNetwork) || got.MissedNetwork {
		t.Errorf("said is %q", said)
	}
}

// TestTwoCallsOfASessionAreNotBlamedForEachOther: they share a network, so that nobody
// knows which of them the kernel has refused.
func TestTwoCallsOfASessionAreNotBlamedForEachOther(t *testing.T) {
	b := newBox(t, Namespaces, listed("off"))
	long, err := b.start(Command{Dir: b.ws, Session: "s", Program: "sh"}, "read x; exit 1")
	b.must(err)
	got, err := b.run(Command{Dir: b.ws, Session: "s", Program: "bash"}, "exec bash -c ': 3<>/dev/tcp/192.0.2.1/80'")
	b.must(err)
	for _, o := range []outcome{got, long.wait()} {
		if said := strings.Join(o.Refusals, " "); !strings.HasPrefix(said, "It may have tried to reach another host.") || o.MissedNetwork {
			t.Errorf("said is %q", said)
		}
	}
}

// TestAScriptIsNotToldWhatItsCommandsDidWithout: they report themselves.
func TestAScriptIsNotToldWhatItsCommandsDidWithout(t *testing.T) {
	b := newBox(t, Namespaces, listed("off"))
	script, err := b.Confine(Command{Dir: b.ws, Session: "s"})
	b.must(err)
	defer script.Release()
	for want, tail := range map[string]string{"": " || true", "It tried to reach another host. " + noNetwork: ""} {
		got, err := b.run(Command{Dir: b.ws, Session: "s", SandboxOf: b.ws, Program: "bash"}, "exec bash -c ': 3<>/dev/tcp/192.0.2.1/80"+tail+"'")
		b.must(err)
		if said := strings.Join(got.Refusals, " "); !strings.HasPrefix(said, want) || want == "" && said != "" {
			t.Errorf("said is %q, want %q", said, want)
		}
	}
	r := tipstaff.Result{Cause: tipstaff.Exited, ExitCode: 1}
	if script.Explain(&r); len(r.Refusals) > 0 || r.Unreached != "" {
		t.Errorf("of the script is said %q", r.Refusals)
	}
}
