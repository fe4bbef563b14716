package deploy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
)

// root is a directory in which the files of a container lie as the chart mounts them.
type root struct {
	t   *testing.T
	dir string
	bin string
}

func (r root) put(path, text string) {
	r.t.Helper()
	path = filepath.Join(r.dir, path)
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(r.t, os.WriteFile(path, []byte(text), 0o600))
}

// run runs a program there and returns what it prints.
func (r root) run(argv ...string) string {
	r.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = r.dir
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v: %v", argv, err)
	}
	return strings.TrimSpace(string(out))
}

// secrets makes what README.md of the chart tells people to make: keys, seal, tokens
// and certificates. It returns the line of the gateways' key.
func (r root) secrets() string {
	r.t.Helper()
	etc := filepath.Join(r.dir, "etc/tipstaff")
	for _, d := range []string{"engine", "tls", "http", "policy"} {
		must(r.t, os.MkdirAll(filepath.Join(etc, d), 0o700))
	}
	r.run(r.bin, "engine", "key", filepath.Join(etc, "engine/engine.nk"))
	public := r.run(r.bin, "engine", "key", filepath.Join(etc, "engine/statements.nk"))
	r.put("etc/tipstaff/engine/seal", strings.Repeat("seal", 8))
	r.run(r.bin, "token", "new", "agents", "--scope", "execute,sessions", "--file", filepath.Join(etc, "engine/tokens.yaml"))
	for _, d := range []string{"tls", "http"} {
		r.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-subj", "/CN="+d,
			"-keyout", filepath.Join(etc, d, "tls.key"), "-out", filepath.Join(etc, d, "tls.crt"))
	}
	ca, err := os.ReadFile(filepath.Join(etc, "tls/tls.crt"))
	must(r.t, err)
	r.put("etc/tipstaff/tls/ca.crt", string(ca))
	return public + " gateway"
}

// check has the program judge the settings of a pod, with its files.
func (r root) check(p core.PodSpec) (says string, ok bool) {
	r.t.Helper()
	env := settings(p)
	for _, e := range p.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			env[e.Name] = "agents-tipstaff-runner-0" // the name of the pod is the only one
		}
	}
	cmd := exec.Command(r.bin, "config", "check")
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + r.dir}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		for _, top := range []string{"/etc/tipstaff", "/var/lib/tipstaff", "/workspace"} {
			if strings.HasPrefix(value, top) {
				value = filepath.Join(r.dir, value)
			}
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestTheProgramStartsWithTheSettings: with the files that README.md has people put
// into Secrets, the program takes what the chart sets; without one of them it says
// which one.
func TestTheProgramStartsWithTheSettings(t *testing.T) {
	bin := program(t)
	for name, values := range map[string]string{"least": least, "all": all} {
		r := root{t, t.TempDir(), bin}
		line := r.secrets()
		for _, d := range []string{"var/lib/tipstaff", "workspace"} {
			must(t, os.MkdirAll(filepath.Join(r.dir, d), 0o700))
		}
		with := strings.ReplaceAll(strings.ReplaceAll(values, `UAKEY gateway\nUBKEY gateway\n`, line), "UAKEY gateway", line)
		with = strings.ReplaceAll(with, "UCKEY ops", line)
		got := install(t, with)
		gw, run := got.deployments["agents-tipstaff-gateway"].Spec.Template.Spec, got.statefulSets["agents-tipstaff-runner"].Spec.Template.Spec
		for file, text := range got.configMaps["agents-tipstaff-runner"].Data {
			r.put("etc/tipstaff/policy/"+file, text)
		}
		for role, p := range map[string]core.PodSpec{"gateway": gw, "runner": run} {
			if says, ok := r.check(p); !ok {
				t.Errorf("%s, %s: the program does not take the settings:\n%s", name, role, says)
			}
		}
		for file, p := range map[string]core.PodSpec{
			"etc/tipstaff/engine/seal": run, "etc/tipstaff/engine/engine.nk": run, "etc/tipstaff/policy/gateways": run, "etc/tipstaff/engine/statements.nk": gw,
		} {
			text, err := os.ReadFile(filepath.Join(r.dir, file))
			must(t, err)
			must(t, os.Remove(filepath.Join(r.dir, file)))
			if says, ok := r.check(p); ok || !strings.Contains(says, file) {
				t.Errorf("%s: without %s: %v\n%s", name, file, ok, says)
			}
			r.put(file, string(text))
		}
	}
}

// TestProbesEndNoSessions: a runner whose trail cannot be written is alive, and not
// ready: a restart would end its sessions.
func TestProbesEndNoSessions(t *testing.T) {
	c := install(t, least).statefulSets["agents-tipstaff-runner"].Spec.Template.Spec.Containers[0]
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.StartupProbe == nil {
		t.Fatal("a runner lacks a probe")
	}
	if c.LivenessProbe.HTTPGet.Path == "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("alive is %s, ready is %s", c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path)
	}
}
