package suggest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tipstaff/internal/policy/load"
)

func project(files ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func options() Options {
	return Options{Root: "/work/x y", Installed: func(string) bool { return true }, Network: true}
}

// TestEachProposalIsAPolicyThatPassesItsTests, for each kind of project alone,
// for all at once, and with and without a network that can be held.
func TestEachProposalIsAPolicyThatPassesItsTests(t *testing.T) {
	all := []string{"pnpm-lock.yaml", "yarn.lock", "uv.lock", "poetry.lock", "Dockerfile"}
	sets := map[string][]string{"nothing": nil}
	for _, k := range kits {
		sets[k.name] = append(slices.Clone(k.marks), all...)
	}
	for _, k := range kits {
		all = append(all, k.marks...)
	}
	sets["all at once"] = all
	for says, files := range sets {
		for _, network := range []bool{true, false} {
			o := options()
			o.Network = network
			o.Installed = func(string) bool { return network }
			got := Look(project(files...)).Propose(o)
			path := filepath.Join(t.TempDir(), "tipstaff.yaml")
			if err := os.WriteFile(path, []byte(got.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := load.Check(path)
			if !r.OK || r.Tests < 5 {
				t.Errorf("%s: %v, %v\n%s", says, r.Err, r.Failed, got.Text)
			}
			for _, d := range r.Doubts {
				if !strings.Contains(d.Message, "with any arguments") {
					t.Errorf("%s: doubtful: %s:%d %s", says, d.File, d.Line, d.Message)
				}
			}
		}
	}
}

func TestAProjectIsKnownByItsFiles(t *testing.T) {
	p := Look(project("go.mod", ".git/config=[core]\n[remote \"origin\"]\n\turl = https://git.example.org/a/b.git\n\turl=git@ssh.example.org:x\n[branch]\nurl = https://no.example.org\n", "Makefile", "Dockerfile"))
	if want := []string{".git", "go.mod", "Makefile", "Dockerfile"}; !slices.Equal(p.Marks, want) || !p.Known() {
		t.Errorf("%q", p.Marks)
	}
	got := p.Propose(options())
	for _, want := range []string{"because of go.mod", "network: [proxy.golang.org, sum.golang.org, storage.googleapis.com, git.example.org]", `roots: ["/work/x y"]`, "docker is left out", "preset:go"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q is missing in\n%s", want, got.Text)
		}
	}
	for _, no := range []string{"npm", "cargo", "ssh.example.org", "no.example.org", "shell:"} {
		if strings.Contains(got.Text, no) {
			t.Errorf("%q stands in\n%s", no, got.Text)
		}
	}
	if !slices.Contains(got.Programs, "gofmt") || Look(project()).Known() {
		t.Errorf("%q", got.Programs)
	}
}

// TestARepositoryCannotWriteThePolicy: what it says of its remotes is a name of a
// host, or nothing.
func TestARepositoryCannotWriteThePolicy(t *testing.T) {
	for _, url := range []string{"https://a.b]}\\ncommands: {sh: {allow: ['*']}}", "https://*.example.org/x", "https://1.2.3.4/x", "https://localhost/x", "http://a.example.org/x", "https://a.example.org:8443/x", "https://[::1]/x", "ext::sh -c id"} {
		if got := remotes(project(".git/config=[remote \"origin\"]\nurl = " + url + "\n")); got != nil {
			t.Errorf("%s: %q", url, got)
		}
	}
}
