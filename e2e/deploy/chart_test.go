// Package deploy judges what lies in deploy: the chart by Helm's own engine and
// Kubernetes's own types, the units by systemd itself. It is a module of its own:
// make deploy.
//
// A text that looks like a manifest proves little: a key that is mistyped is
// dropped without a word by the server of Kubernetes. So everything is decoded
// strictly, what refers to something has to find it, and the settings have to be
// those that the program knows.
package deploy

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../deploy/helm/tipstaff"

// least is what the chart cannot guess.
const least = `
image: {repository: registry.example/agents}
engine: {addresses: "nats://nats.nats.svc:4222", gatewayKeys: "UAKEY gateway"}
gateway: {secret: gw}
runner: {secret: rn}
`

// all turns on what is off by itself.
const all = `
image: {repository: registry.example/agents, tag: "1.2.3"}
imagePullSecrets: [{name: pull}]
engine: {addresses: "tls://a:4222,tls://b:4222", gatewayKeys: "UAKEY gateway\nUBKEY gateway\n", operatorKeys: "UCKEY ops\n", tlsSecret: engine-tls, patience: 8000}
gateway:
  secret: gw
  tlsSecret: http-tls
  hosts: [tipstaff.example.org]
  settings: {TIPSTAFF_HTTP_RATE: "500"}
  podAnnotations: {team: agents}
  nodeSelector: {disk: fast}
  tolerations: [{key: agents, operator: Exists, effect: NoSchedule}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: x, operator: In, values: [y]}]}]}}}
podMonitor: true
podMonitorLabels: {release: prometheus}
runner:
  secret: rn
  labels: pool=gpu
  priorityClassName: agents
  sandbox: namespaces
  seccompProfile: profiles/tipstaff.json
  network: registry.npmjs.org
  settings: {TIPSTAFF_SHELL: "write"}
  state: {storageClass: fast}
  workspace: {persistent: true, storageClass: fast}
  podAnnotations: {team: agents}
  nodeSelector: {disk: fast}
  tolerations: [{key: agents, operator: Exists, effect: NoSchedule}]
`

// release is a rendered chart, decoded.
type release struct {
	configMaps   map[string]core.ConfigMap
	services     map[string]core.Service
	deployments  map[string]apps.Deployment
	statefulSets map[string]apps.StatefulSet
	budgets      map[string]policy.PodDisruptionBudget
	networks     map[string]networking.NetworkPolicy
	monitors     map[string]monitoring.PodMonitor
}

// render renders the chart as "helm template" does.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	chart, err := loader.Load(chartDir)
	must(t, err)
	given, err := chartutil.ReadValues([]byte(values))
	must(t, err)
	top, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "agents", Namespace: "tools", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(chart, top)
}

// install decodes what the chart makes of values.
func install(t *testing.T, values string) *release {
	t.Helper()
	files, err := render(t, values)
	must(t, err)
	r := &release{
		map[string]core.ConfigMap{}, map[string]core.Service{}, map[string]apps.Deployment{}, map[string]apps.StatefulSet{},
		map[string]policy.PodDisruptionBudget{}, map[string]networking.NetworkPolicy{}, map[string]monitoring.PodMonitor{},
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, doc := range regexp.MustCompile(`(?m)^---\s*$`).Split(files[name], -1) {
			if strings.TrimSpace(doc) != "" {
				r.decode(t, name, doc)
			}
		}
	}
	return r
}

func (r *release) decode(t *testing.T, file, doc string) {
	t.Helper()
	var kind struct{ APIVersion, Kind string }
	must(t, yaml.Unmarshal([]byte(doc), &kind))
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 ConfigMap":
		strictly(t, doc, r.configMaps, func(o core.ConfigMap) string { return o.Name })
	case "v1 Service":
		strictly(t, doc, r.services, func(o core.Service) string { return o.Name })
	case "apps/v1 Deployment":
		strictly(t, doc, r.deployments, func(o apps.Deployment) string { return o.Name })
	case "apps/v1 StatefulSet":
		strictly(t, doc, r.statefulSets, func(o apps.StatefulSet) string { return o.Name })
	case "policy/v1 PodDisruptionBudget":
		strictly(t, doc, r.budgets, func(o policy.PodDisruptionBudget) string { return o.Name })
	case "networking.k8s.io/v1 NetworkPolicy":
		strictly(t, doc, r.networks, func(o networking.NetworkPolicy) string { return o.Name })
	case "monitoring.coreos.com/v1 PodMonitor":
		strictly(t, doc, r.monitors, func(o monitoring.PodMonitor) string { return o.Name })
	default:
		t.Errorf("%s holds %v, which this test does not know", file, kind)
	}
}

// strictly decodes an object: a field that its type has not, or that stands
// twice, is an error.
func strictly[T any](t *testing.T, doc string, into map[string]T, name func(T) string) {
	t.Helper()
	var o T
	if err := yaml.UnmarshalStrict([]byte(doc), &o); err != nil {
		t.Fatalf("%T: %v\n%s", o, err, doc)
	}
	if _, twice := into[name(o)]; twice || name(o) == "" {
		t.Errorf("%T %q: there twice, or without a name", o, name(o))
	}
	into[name(o)] = o
}

func TestAMistypedFieldIsFound(t *testing.T) {
	for _, doc := range []string{
		"apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {selectors: {a: b}}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {type: ClusterIP, type: NodePort}",
	} {
		var s core.Service
		if yaml.UnmarshalStrict([]byte(doc), &s) == nil {
			t.Errorf("this passes:\n%s", doc)
		}
	}
}

func TestTheChartIsWhatKubernetesReads(t *testing.T) {
	for name, values := range map[string]string{
		"least": least, "all": all,
		"no metrics, no network policy": least + "metricsPort: 0\nnetworkPolicy: false\n",
		"namespaces, no profile":        strings.Replace(least, "secret: rn", "secret: rn, sandbox: namespaces", 1),
	} {
		t.Run(name, func(t *testing.T) {
			r := install(t, values)
			gw, ok := r.deployments["agents-tipstaff-gateway"]
			run, is := r.statefulSets["agents-tipstaff-runner"]
			if !ok || !is || len(r.deployments) != 1 || len(r.statefulSets) != 1 {
				t.Fatalf("gateway %v, runner %v", ok, is)
			}
			claims := map[string]bool{}
			for _, c := range run.Spec.VolumeClaimTemplates {
				claims[c.Name] = true
			}
			r.pod(t, gw.Spec.Template.Spec, nil)
			r.pod(t, run.Spec.Template.Spec, claims)
			if run.Spec.ServiceName != "agents-tipstaff-runner" || r.services[run.Spec.ServiceName].Spec.ClusterIP != core.ClusterIPNone {
				t.Error("the runners have no headless service")
			}
			pods := map[string]labels.Set{"gateway": gw.Spec.Template.Labels, "runner": run.Spec.Template.Labels}
			selects(t, pods, "gateway", gw.Spec.Selector.MatchLabels, r.services[gw.Name].Spec.Selector, r.budgets[gw.Name].Spec.Selector.MatchLabels)
			selects(t, pods, "runner", run.Spec.Selector.MatchLabels, r.services[run.Name].Spec.Selector, r.budgets[run.Name].Spec.Selector.MatchLabels)
			for role, name := range map[string]string{"runner": run.Name, "gateway": gw.Name} {
				if n, ok := r.networks[name]; ok {
					selects(t, pods, role, n.Spec.PodSelector.MatchLabels)
				}
			}
			for _, m := range r.monitors {
				for role, set := range pods {
					if !labels.SelectorFromSet(m.Spec.Selector.MatchLabels).Matches(set) {
						t.Errorf("the pods of the %s are not monitored", role)
					}
				}
			}
			if want := strings.Contains(values, "podMonitor: true"); (len(r.monitors) == 1) != want {
				t.Errorf("%d objects for the Prometheus operator", len(r.monitors))
			}
		})
	}
}

// selects checks that selectors find the pods of one role alone.
func selects(t *testing.T, pods map[string]labels.Set, role string, selectors ...map[string]string) {
	t.Helper()
	for i, s := range selectors {
		for of, set := range pods {
			if len(s) == 0 || labels.SelectorFromSet(s).Matches(set) != (of == role) {
				t.Errorf("selector %d of the %s, %v, and the pods of the %s", i, role, s, of)
			}
		}
	}
}

// pod checks that what a pod refers to is there, and what every pod of ours has
// to keep.
func (r *release) pod(t *testing.T, p core.PodSpec, claims map[string]bool) {
	t.Helper()
	volumes := maps.Clone(claims)
	if volumes == nil {
		volumes = map[string]bool{}
	}
	for _, v := range p.Volumes {
		volumes[v.Name] = true
		if v.ConfigMap != nil {
			if _, ok := r.configMaps[v.ConfigMap.Name]; !ok {
				t.Errorf("volume %s is of the config map %q, which is not there", v.Name, v.ConfigMap.Name)
			}
		}
	}
	if len(p.Containers) != 1 || p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
		t.Fatal("one container, without a token for Kubernetes")
	}
	c := p.Containers[0]
	mounted := map[string]bool{}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] || mounted[m.MountPath] {
			t.Errorf("%s is mounted at %s: there is no such volume, or something is there already", m.Name, m.MountPath)
		}
		mounted[m.MountPath] = true
	}
	seen := map[string]bool{}
	for _, e := range c.Env {
		if seen[e.Name] {
			t.Errorf("the setting %s stands twice", e.Name)
		}
		seen[e.Name] = true
		if strings.HasPrefix(e.Value, "/etc/tipstaff/") && !mounted[e.Value] && !mounted[filepath.Dir(e.Value)] {
			t.Errorf("%s=%s, and nothing is mounted there", e.Name, e.Value)
		}
	}
	if name, _, _ := strings.Cut(c.Args[0], " "); name == "runner" {
		for _, m := range c.VolumeMounts {
			if m.Name == "keys" && m.SubPath == "" && m.SubPathExpr != "$(TIPSTAFF_RUNNER_NAME).nk" {
				t.Errorf("a runner sees the keys of others: %+v", m)
			}
		}
	}
	s := c.SecurityContext
	if s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !*s.RunAsNonRoot || s.Privileged != nil || p.HostNetwork || p.HostPID ||
		len(s.Capabilities.Add) != 0 || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
		t.Errorf("the container has more rights than it needs: %+v", s)
	}
	if *p.TerminationGracePeriodSeconds < 30 {
		t.Error("no time for a drain")
	}
}

// TestTheSandboxGetsWhatItNeeds: the namespaces of a command need a user
// namespace, a /proc without covers and system calls that Kubernetes's own
// profile refuses. The Landlock tier needs none of these.
func TestTheSandboxGetsWhatItNeeds(t *testing.T) {
	for _, c := range []struct {
		values, tier string
		seccomp      core.SeccompProfileType
		namespaces   bool
	}{
		{least, "landlock", core.SeccompProfileTypeRuntimeDefault, false},
		{all, "namespaces", core.SeccompProfileTypeLocalhost, true},
		{strings.Replace(least, "secret: rn", "secret: rn, sandbox: namespaces", 1), "namespaces", core.SeccompProfileTypeUnconfined, true},
	} {
		p := install(t, c.values).statefulSets["agents-tipstaff-runner"].Spec.Template.Spec
		env := settings(p)
		if env["TIPSTAFF_SANDBOX"] != "require" || env["TIPSTAFF_SANDBOX_TIER"] != c.tier {
			t.Errorf("the sandbox is %s of %s", env["TIPSTAFF_SANDBOX"], env["TIPSTAFF_SANDBOX_TIER"])
		}
		ctx := p.Containers[0].SecurityContext
		unmasked := ctx.ProcMount != nil && *ctx.ProcMount == core.UnmaskedProcMount
		users := p.HostUsers != nil && !*p.HostUsers
		if p.SecurityContext.SeccompProfile.Type != c.seccomp || unmasked != c.namespaces || users != c.namespaces || (p.SecurityContext.AppArmorProfile != nil) != c.namespaces {
			t.Errorf("%s: seccomp %v, /proc unmasked %v, user namespace %v", c.tier, p.SecurityContext.SeccompProfile, unmasked, users)
		}
	}
}

// settings are the variables of a pod's container.
func settings(p core.PodSpec) map[string]string {
	env := map[string]string{}
	for _, e := range p.Containers[0].Env {
		env[e.Name] = e.Value
	}
	return env
}

// TestTheProgramKnowsTheSettings asks the program itself.
func TestTheProgramKnowsTheSettings(t *testing.T) {
	bin := program(t)
	help, err := exec.Command(bin, "help", "environment").Output()
	must(t, err)
	r := install(t, all)
	for role, p := range map[string]core.PodSpec{
		"gateway": r.deployments["agents-tipstaff-gateway"].Spec.Template.Spec, "runner": r.statefulSets["agents-tipstaff-runner"].Spec.Template.Spec,
	} {
		for name := range settings(p) {
			if !regexp.MustCompile(`\b` + name + `\b`).Match(help) {
				t.Errorf("%s: the program knows no %s", role, name)
			}
		}
		if out, err := exec.Command(bin, append([]string{p.Containers[0].Args[0]}, "--help")...).CombinedOutput(); err != nil {
			t.Errorf("%s: the program has no %q: %v\n%s", role, p.Containers[0].Args[0], err, out)
		}
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	for _, c := range []struct{ leave, put, says string }{
		{"image: {repository: registry.example/agents}", "", "image.repository: name the image"},
		{`addresses: "nats://nats.nats.svc:4222", `, "", "engine.addresses: name the NATS servers"},
		{`, gatewayKeys: "UAKEY gateway"`, "", "engine.gatewayKeys: the public keys"},
		{"gateway: {secret: gw}", "", "gateway.secret: the Secret with"},
		{"runner: {secret: rn}", "", "runner.secret: the Secret with"},
		{"secret: rn", "secret: rn, replica: 5", "replica"},
		{"secret: rn", "secret: rn, user: 0", "/runner/user"},
		{"addresses: \"nats://", "addresses: \"http://", "/engine/addresses"},
		{"runner: {", "podMonitor: true\nmetricsPort: 0\nrunner: {", "nothing to scrape"},
		{"secret: rn", "secret: rn, sandbox: none", "neither landlock nor namespaces"},
		{"secret: rn", "secret: rn, network: example.org", "needs runner.sandbox: namespaces"},
	} {
		if !strings.Contains(least, c.leave) {
			t.Fatalf("%q is not there", c.leave)
		}
		if _, err := render(t, strings.Replace(least, c.leave, c.put, 1)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("without %q: %v, and not %q", c.leave, err, c.says)
		}
	}
}

// TestSystemdReadsTheUnits: systemd-analyze names keys that it does not know and
// values that it cannot read, and ends well all the same.
func TestSystemdReadsTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	units, err := filepath.Glob("../../deploy/systemd/*.service")
	must(t, err)
	if len(units) != 3 {
		t.Fatalf("the units are %v", units)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		must(t, err)
		if says := verify(t, analyze, filepath.Base(unit), text); says != "" {
			t.Errorf("%s: %s", unit, says)
		}
		if says := verify(t, analyze, filepath.Base(unit), bytes.Replace(text, []byte("Restart="), []byte("Restrat="), 1)); !strings.Contains(says, "Restrat") {
			t.Errorf("%s: a mistyped key passes: %s", unit, says)
		}
	}
}

// verify returns what systemd says of a unit whose program is there.
func verify(t *testing.T, analyze, name string, text []byte) string {
	t.Helper()
	dir := t.TempDir()
	for _, other := range []string{"tipstaff.socket"} {
		data, err := os.ReadFile(filepath.Join("../../deploy/systemd", other))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, other), data, 0o600))
	}
	there, err := exec.LookPath("true")
	must(t, err)
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, bytes.ReplaceAll(text, []byte("/usr/local/bin/tipstaff"), []byte(there)), 0o600))
	out, err := exec.Command(analyze, "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// program builds tipstaff, once for all tests.
func program(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "tipstaff")
	build := exec.Command("go", "build", "-o", bin, "./cmd/tipstaff")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
