package policy_test

import (
	"slices"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
)

// requestOf makes a request of the lines of a text: the words of a command, or
// in the execute family a command line.
func requestOf(text string, flags byte) tipstaff.Request {
	words := strings.Split(text, "\n")
	if flags&1 == 0 {
		return terminal(words...)
	}
	if flags&2 == 0 {
		return execute(text)
	}
	return tipstaff.Request{Family: tipstaff.Execute, Argv: words, Dir: words[len(words)-1], DirGiven: true}
}

func seedRequests(f *testing.F) {
	for _, c := range lines[struct{ Argv []string }](f, "benign.jsonl") {
		f.Add(strings.Join(c.Argv, "\n"), byte(0))
	}
	for _, c := range lines[struct{ Argv []string }](f, "gtfo-exec.jsonl") {
		f.Add(strings.Join(c.Argv, "\n"), byte(0))
	}
	f.Add("ls -la 'a b'", byte(1))
	f.Add("xargs\n-I{}\nenv\n-S\nfind . -exec {}", byte(0))
	f.Add("git\nconfig\nalias.x\n!-c a", byte(0))
	f.Add("sed\ns/[[:x/]\\", byte(0))
	f.Add("awk\n\"\\", byte(0))
	f.Add("tar\ncI", byte(0))
}

// FuzzDecide: no request makes Decide panic, and what it allows is complete
// and listed.
func FuzzDecide(f *testing.F) {
	seedRequests(f)
	p := policy.New(server())
	f.Fuzz(func(t *testing.T, text string, flags byte) {
		req := requestOf(text, flags)
		names := []string{"git", "find", "xargs", "env", "tar", "sed", "awk", "ls"}
		w := allowing(names...)
		if len(req.Argv) > 0 {
			w.allowed[tipstaff.Terminal] = policy.Allowlist{Names: append(names, req.Argv[0])}
		}
		d := p.Decide(req, w)
		grant, ok := d.Grant()
		if ok != (d.Effect == policy.Allow) || ok != (d.Refusal() == nil) {
			t.Fatalf("%q: effect %s, grant %v, refusal %v", text, d.Effect, ok, d.Refusal())
		}
		if !ok {
			if f := d.Deciding(); f.Rule == "" || f.Code == "" || f.Msg == "" || f.Hint == "" {
				t.Errorf("%q: a refusal that does not teach: %+v", text, f)
			}
			return
		}
		defer grant.Close()
		allowed := w.allowed[req.Family].Names
		if name := grant.Argv()[0]; !slices.Contains(allowed, name) && !strings.Contains(name, "/") {
			t.Errorf("%q: %q runs and is not listed", text, name)
		}
		if grant.Program().Path == "" || grant.Timeout() <= 0 || len(grant.Env()) == 0 {
			t.Errorf("%q: an incomplete grant", text)
		}
	})
}

// FuzzNothingElseWidens: a name that is added to the list changes the answer
// only for commands that hold it, and never from yes to no.
func FuzzNothingElseWidens(f *testing.F) {
	seedRequests(f)
	p := policy.New(server())
	f.Fuzz(func(t *testing.T, text string, flags byte) {
		req := requestOf(text, flags)
		allows := func(names ...string) bool {
			d := p.Decide(req, allowing(names...))
			if grant, ok := d.Grant(); ok {
				grant.Close()
			}
			return d.Effect == policy.Allow
		}
		list := []string{"git", "find", "xargs", "env", "nice", "sed", "npm", "ls"}
		for _, more := range []string{"rm", "tee", "timeout", "unheard-of"} {
			before, after := allows(list...), allows(append(list, more)...)
			if before && !after {
				t.Errorf("%q: with %s it may not run any more", text, more)
			}
			implied := map[string]string{"rm": "-delete", "tee": "-f"}[more] // find does what they do
			held := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, "\\", ""), "'", ""), `"`, "")
			if !before && after && !strings.Contains(held, more) && (implied == "" || !strings.Contains(text, implied)) {
				t.Errorf("%q: with %s it may run", text, more)
			}
		}
	})
}
