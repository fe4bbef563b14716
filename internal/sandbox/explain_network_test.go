//go:build linux

package sandbox

import (
	"strings"
	"testing"

	"tipstaff"
)

func TestProgramsThatMissTheNetworkAreToldSo(t *testing.T) {
	want := map[string]string{"off": "no network here (TIPSTAFF_NETWORK=off), and more time does not change that", "one.example": "only one.example. If the host is one of these", "on": ""}
	eachTier(t, func(t *testing.T, tier Tier) {
		for network, says := range want {
			if network == "one.example" && tier == Landlock {
				continue // a list needs namespaces
			}
			t.Run(network, func(t *testing.T) {
				b := newBox(t, tier, listed(network))
				b.complaints([]complaint{
					{"curl 6", "curl: (6) Could not resolve host: pypi.org\n", says},
					{"curl 7", "curl: (7) Failed to connect to 1.1.1.1 port 80 after 0 ms: Couldn't connect to server\n", says},
					{"curl 28", "curl: (28) Failed to connect to pypi.org port 443 after 30001 ms: Timeout was reached\n", says},
					{"curl 28 otherwise", "curl: (28) Connection timed out after 5001 milliseconds\n", says},
					{"npm", "npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org\n", says},
					{"npm after long", "npm error code ETIMEDOUT\nnpm error errno ETIMEDOUT\n", says},
					{"pip", "WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/six/\n", says},
					{"Go", "dial tcp: lookup proxy.golang.org: i/o timeout\n", says},
					{"git", "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com\n", says},
					{"ssh", "ssh: Could not resolve hostname github.com: Temporary failure in name resolution\n", says},
					{"apt", "W: Failed to fetch http://deb.debian.org/x  Temporary failure resolving 'deb.debian.org'\n", says},
					{"cargo", "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname (Could not resolve host: index.crates.io)\n", says},

					{"a test of its own", "Error: Test timed out in 5000ms.\nFAIL: request handler test: operation timed out\n", ""},
					{"a server of its own", "curl: (7) Failed to connect to 127.0.0.1 port 8080 after 0 ms: Couldn't connect to server\n", ""},
					{"by name", "connect ETIMEDOUT localhost:3000\n", ""},
					{"a module", "Error: cannot resolve module './x' (ERESOLVE)\n", ""},
					{"an answer", "curl: (22) The requested URL returned error: 404\n", ""},
				})
				b.real("curl", "curl -sS -m 5 http://tipstaff-test.invalid/ --noproxy '*'", says)
			})
		}
	})
}

// TestMoreTimeIsNoAdviceWithoutTheNetwork: the answer leaves it out where
// MissedNetwork is set.
func TestMoreTimeIsNoAdviceWithoutTheNetwork(t *testing.T) {
	const retrying = "curl: (28) Connection timed out after 5001 milliseconds\n"
	for _, c := range []struct {
		says, network, program, stderr string
		cause                          tipstaff.Cause
		missed                         bool
		want                           string // "" is nothing
	}{
		{"it said so", "off", "node", retrying, tipstaff.TimedOut, true, "no network here"},
		{"it kept silent, and fetches things", "off", "/usr/bin/npm", "", tipstaff.TimedOut, false, "if it waited for another host, more time does not help"},
		{"the same with a list", "one.example", "npm", "", tipstaff.TimedOut, false, "no hosts but one.example: if it waited"},
		{"it kept silent and ended", "off", "npm", "", tipstaff.Exited, false, ""},
		{"it does not fetch", "off", "sleep", "", tipstaff.TimedOut, false, ""},
		{"it has the network", "on", "npm", retrying, tipstaff.TimedOut, false, ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBox(t, Namespaces, listed(c.network))
			confined, err := b.Confine(Command{Dir: b.ws, Program: c.program})
			b.must(err)
			defer confined.Release()
			r := tipstaff.Result{Cause: c.cause, ExitCode: 1, Stderr: tipstaff.Stream{Head: []byte(c.stderr)}}
			confined.Explain(&r)
			said := strings.Join(r.Refusals, " ")
			if r.MissedNetwork != c.missed || !strings.Contains(said, c.want) || c.want == "" && said != "" {
				t.Errorf("missed %v, said %q", r.MissedNetwork, said)
			}
		})
	}
}

// TestTextAboutTheNetworkIsNotTakenForItsLack: a command that succeeded may have
// been asked to print it.
func TestTextAboutTheNetworkIsNotTakenForItsLack(t *testing.T) {
	b := newBox(t, Namespaces, listed("off"))
	for _, text := range []string{"Could not resolve host: x.example", "strace: ptrace(PTRACE_TRACEME): Operation not permitted", "Cannot connect to the Docker daemon at unix:///x"} {
		if got := b.sh("echo '" + text + "'"); len(got.Refusals) > 0 {
			t.Errorf("of %q is said %q", text, got.Refusals)
		}
		if got := b.sh("echo '" + text + "'; false"); len(got.Refusals) != 1 {
			t.Errorf("of %q and a failure is said %q", text, got.Refusals)
		}
	}
}
