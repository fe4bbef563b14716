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
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, setup{env: append([]string{"TIPSTAFF_CONFIG=" + file}, env...)})
}

const confiningPolicy = `
version: 1
limits: {processes: 300}
commands:
  echo: {allow: ["*"]}
  cat: {allow: ["*"], network: off}
  sh: {allow: ["*"], limits: {memory: 512MiB}, network: off}
  ls: {allow: ["*"], network: [registry.example.org]}
`

// TestAPolicyConfinesItsCommands: a rule's wishes reach the kernel and the record.
func TestAPolicyConfinesItsCommands(t *testing.T) {
	for _, tier := range []string{"landlock", "namespaces"} {
		t.Run(tier, func(t *testing.T) {
			s := withPolicy(t, confiningPolicy, kit.Sandboxed(tier)...)
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
