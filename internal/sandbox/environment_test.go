//go:build linux

package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// variables are those of a command of the session s, by name.
func (b *box) variables(env ...string) map[string][]string {
	b.t.Helper()
	confined, err := b.Confine(Command{Session: "s", Dir: b.ws, Env: env})
	b.must(err)
	defer confined.Release()
	got := map[string][]string{}
	for _, kv := range confined.Env {
		name, value, _ := strings.Cut(kv, "=")
		got[name] = append(got[name], value)
	}
	return got
}

func TestCommandsFindWhatTheSandboxHasForThem(t *testing.T) {
	theirs := []string{"PATH=/bin", "TMPDIR=/theirs", "TAR_OPTIONS=--theirs", "HTTP_PROXY=http://theirs", "EMPTY=", "TMPDIR=/again", "TMPDIRS=kept"}
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		got := b.variables(theirs...)
		temp := []string{"/tmp"}
		if tier == Landlock {
			temp = []string{tempOf(b.sandboxOf("s").dir)}
		}
		tar := []string{"--theirs"}
		if os.Getuid() == 0 {
			tar = []string{"--no-same-owner"}
		}
		for name, want := range map[string][]string{
			"PATH": {"/bin"}, "TMPDIR": temp, "TAR_OPTIONS": tar, "EMPTY": {""}, "TMPDIRS": {"kept"},
			"HTTP_PROXY": {"http://theirs"}, "http_proxy": nil, "NO_PROXY": nil, "NODE_USE_ENV_PROXY": nil,
		} {
			if !slices.Equal(got[name], want) {
				t.Errorf("%s is %q, want %q", name, got[name], want)
			}
		}
	})
}

func TestWithAListTheProxyIsNamedInTheEnvironment(t *testing.T) {
	b := newBox(t, Namespaces, listed("listed.example"))
	got := b.variables("HTTP_PROXY=http://theirs", "https_proxy=http://theirs", "no_proxy=*", "NODE_USE_ENV_PROXY=0")
	proxy := "http://127.0.0.1:3128"
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if !slices.Equal(got[name], []string{proxy}) {
			t.Errorf("%s is %q, want %q", name, got[name], proxy)
		}
	}
	for name, want := range map[string]string{"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY": "1"} {
		if !slices.Equal(got[name], []string{want}) {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	java := b.variables("JAVA_TOOL_OPTIONS=-Xmx1g -Dhttp.proxyHost=theirs")["JAVA_TOOL_OPTIONS"]
	if want := "-Xmx1g -Dhttp.proxyHost=theirs -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128"; !slices.Equal(java, []string{want}) {
		t.Errorf("JAVA_TOOL_OPTIONS is %q, want %q", java, want)
	}
}

// TestAnArchiveOfOthersCanBeUnpacked: a root without capabilities gives no file away.
func TestAnArchiveOfOthersCanBeUnpacked(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		b.all([]try{{"tar", "echo x > file && tar cf a.tar --owner=nobody --group=nogroup file && mkdir out && tar xf a.tar -C out && cat out/file", "=x"}})
	})
}

// listed gives commands these hosts and no other.
func listed(hosts string) func(*box, *Options) {
	return func(b *box, o *Options) {
		var err error
		o.Network, err = ParseNetwork(hosts)
		b.must(err)
	}
}
