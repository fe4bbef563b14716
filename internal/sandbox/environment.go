//go:build linux

package sandbox

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"tipstaff/internal/sandbox/profile"
)

// environment returns the variables of a command. Those by which programs find what
// the sandbox has for them replace the server's, and none that the caller has given: it
// passed, and a command that ran with another value would do something else.
func (sess *sessionSandbox) environment(env, given []string) []string {
	set := map[string]string{"TMPDIR": tempOf(sess.dir)}
	if sess.sandbox.status.tier == Namespaces {
		set["TMPDIR"] = sess.settings.temp
	}
	if sess.settings.proxy != nil {
		proxy := fmt.Sprintf("http://tipstaff:%s@127.0.0.1:%d", sess.token, proxyPort)
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			set[name], set[strings.ToLower(name)] = proxy, proxy
		}
		set["NO_PROXY"], set["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
		set["NODE_USE_ENV_PROXY"] = "1" // Node.js asks for it before it obeys the others
	}
	if os.Getuid() == 0 {
		// Archives name the owners of files, and a root without capabilities
		// cannot give files away, which makes tar fail.
		set["TAR_OPTIONS"] = "--no-same-owner"
	}
	for _, kv := range given {
		name, _, _ := strings.Cut(kv, "=")
		delete(set, name)
	}
	out := make([]string, 0, len(env)+len(set))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := set[name]; !ours {
			out = append(out, kv)
		}
	}
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	return out
}

// temporary returns the temporary directory of commands in namespaces: the first of
// these that exists and that they may write. Under the profile open they are the
// machine's, otherwise private ones cover them. Shared memory always exists, and is
// always private.
func temporary(p profile.Profile, dirs ...string) string {
	for _, dir := range dirs {
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
			continue
		}
		if p != profile.Open || mayCommand(dir, unix.W_OK|unix.X_OK) {
			return dir
		}
	}
	return "/dev/shm"
}

// sessionContext is the key of the session sandbox in a context.
type sessionContext struct{}

func withSession(ctx context.Context, sess *sessionSandbox) context.Context {
	return context.WithValue(ctx, sessionContext{}, sess)
}

// noteRefused keeps what the proxy refused, for the hint in the answer.
func noteRefused(ctx context.Context, host, why string) {
	if sess, ok := ctx.Value(sessionContext{}).(*sessionSandbox); ok {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		if len(sess.refused) < maxRefused {
			sess.refused = append(sess.refused, refusal{host, why})
		}
	}
}

// refusal is a host that the proxy refused, and why.
type refusal struct{ host, why string }

const maxRefused = 16
