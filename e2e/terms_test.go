//go:build linux && !race

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// withPolicy starts a server with a policy file.
func withPolicy(t *testing.T, policy string, env ...string) *kit.Server {
	t.Helper()
	return start(t, setup{env: env}.withPolicy(t, policy))
}

const confiningPolicy = `
version: 1
commands:
  echo: {allow: ["*"]}
  cat: {allow: ["*"], network: off}
  sh: {allow: ["*"], limits: {memory: 512MiB}, network: off}
  ls: {allow: ["*"], network: [registry.example.org]}
`

// TestAPolicyConfinesItsCommands: the constraints of a rule reach the kernel
// and the record.
func TestAPolicyConfinesItsCommands(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{"landlock", "namespaces"} {
		t.Run(tier, func(t *testing.T) {
			policy := confiningPolicy
			if tier == kit.Namespaces { // outside of them a limit of processes needs a control group
				policy += "limits: {processes: 300}\n"
			}
			s := withPolicy(t, policy, kit.Sandboxed(tier)...)
			r := s.Command(`sh -c 'ulimit -d; exec 3<> /dev/tcp/127.0.0.1/9'`)
			if out := r.YAML(); !strings.HasPrefix(out.Stdout, "524288\n") {
				t.Errorf("memory is not limited: %+v", out)
			}
			s.Command("echo free").Ran()
			listed := s.Command("ls /")
			if tier == "landlock" {
				listed.Refused("The policy confines this command more")
			} else {
				listed.Ran()
			}
			want := map[string]string{"sh": "off", "echo": "on", "ls": "registry.example.org"}
			for _, record := range s.Records() {
				what, _ := record["what"].(map[string]any)
				sandbox, _ := record["sandbox"].(map[string]any)
				argv, _ := what["argv"].([]any)
				if record["event"] != "command.start" || len(argv) == 0 {
					continue
				}
				if name, _ := argv[0].(string); sandbox["network"] != want[name] {
					t.Errorf("%v is recorded with the network %v, want %s", argv, sandbox["network"], want[name])
				}
			}
		})
	}
}

// TestTheRootsOfAPolicyAreWhatCommandsMayChange, and none of the server's other
// files; roots that a reload changes apply from the next command on.
func TestTheRootsOfAPolicyAreWhatCommandsMayChange(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{kit.Landlock, kit.Namespaces} {
		t.Run(tier, func(t *testing.T) {
			one, two, dir := canonical(t, t.TempDir()), canonical(t, t.TempDir()), canonical(t, t.TempDir())
			file := filepath.Join(dir, "policy.yaml")
			say := func(roots string) {
				t.Helper()
				put(t, file, []byte("version: 1\nroots: ["+roots+"]\ncommands: {sh: {allow: ['*']}}\n"))
			}
			say(one)
			s := prepare(t, setup{env: append([]string{"TIPSTAFF_CONFIG=" + file}, kit.Sandboxed(tier)...)})
			if !works(t, s) {
				t.Skip("this machine has no such tier")
			}
			s.Connect()
			writes := func(path string) bool {
				r := s.Process("sh", []string{"-c", "echo x > " + path + "/made"}, kit.Args{"cwd": one})
				_, err := os.Stat(filepath.Join(path, "made"))
				if made := err == nil; made != (r.YAML().ExitCode == 0) {
					t.Errorf("%s: %v, and %s", path, err, r.Text)
				}
				return err == nil
			}
			for path, want := range map[string]bool{one: true, two: false, s.Workspace: false} {
				if got := writes(path); got != want {
					t.Errorf("a command could write in %s: %v", path, got)
				}
			}
			say(one + ", " + two)
			kit.Eventually(t, "the new root", func() bool { return writes(two) }, s.Stderr.String)
		})
	}
}
