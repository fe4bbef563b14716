//go:build linux && !race

package faults

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/internal/testing/testpki"
)

// The tokens of two tenants.
var tokens = map[string]string{"busy": "faults-7f3c0a9b5d2e4816-a1b2c3d4e5f6", "quiet": "faults-91d4b7c25e8f3a60-0f1e2d3c4b5a"}

// member is a gateway or a runner.
type member struct {
	process
	home   string // its state lies in it
	work   string // of a runner: where commands run
	state  string
	strict bool // no command starts before a stream has its intent
}

// fleet is everything: servers, runners, gateways, and what agents are told.
type fleet struct {
	t         *testing.T
	dir       string
	bin       string
	lan       *lan
	engine    []*nats
	authority *testpki.Authority // of all certificates; nil: there are none
	runners   []*member
	gateways  []*member
	ledger    *ledger
	urls      []string
	flooding  func()
	old       string          // the program of the commit before, once it is built
	refused   int             // by a runner whose clock is about to jump
	jumping   string          // the program with a clock that jumps, once it is built
	twin      *member         // a second runner of the name r1, once there was one
	killed    map[string]bool // by SIGKILL, so that the last line of a trail may be torn
}

// newFleet starts a fleet and waits until it is ready.
func newFleet(t *testing.T, bin, natsBin string) *fleet {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "tipstaff-faults-") //nolint:usetesting // /tmp is a session's own in the sandbox
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs, trails and stores are kept in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	must(t, os.Chmod(dir, 0o755))
	f := &fleet{t: t, dir: dir, bin: bin, lan: newLAN(t), ledger: newLedger(), killed: map[string]bool{}}
	seal := make([]byte, 32)
	_, _ = rand.Read(seal)
	f.write("seal", string(seal))
	f.tokens()
	f.witness()
	f.secure()
	f.engine = f.cluster(natsBin, f.keys())
	for i := 1; i <= 2; i++ {
		f.gateways = append(f.gateways, f.gateway(i))
	}
	for i := 1; i <= 3; i++ {
		f.runners = append(f.runners, f.runner(i))
	}
	for _, m := range f.members() {
		m.start()
	}
	t.Cleanup(f.end)
	for _, g := range f.gateways {
		eventually(t, g.name()+" is ready", time.Minute, func() bool { return f.ready(g) }, func() string { return f.says(15) })
	}
	return f
}

func (f *fleet) members() []*member { return append(append([]*member{}, f.gateways...), f.runners...) }

// directory makes a directory that members read.
func (f *fleet) directory(name string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	must(f.t, os.MkdirAll(path, 0o755))
	return path
}

// write writes a file that members read.
func (f *fleet) write(name, text string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	must(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(f.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// tokens writes the file of those who may call.
func (f *fleet) tokens() {
	f.t.Helper()
	var rows strings.Builder
	rows.WriteString("tokens:\n")
	for name, token := range tokens {
		fmt.Fprintf(&rows, "  - {name: %s, sha256: %x, scopes: [execute, sessions, read]}\n", name, sha256.Sum256([]byte(token)))
	}
	f.write("tokens.yaml", rows.String())
}

// witness puts the program that agents let run where commands find it.
func (f *fleet) witness() {
	f.t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	must(f.t, err)
	bin := filepath.Join(f.dir, "bin")
	must(f.t, os.MkdirAll(bin, 0o755))
	must(f.t, os.WriteFile(filepath.Join(bin, witnessName), self, 0o755)) // a program
}

// keys makes a key for each member, and one by which each gateway signs. It
// returns the arguments of "tipstaff engine config" that name them.
func (f *fleet) keys() (flags []string) {
	f.t.Helper()
	var signers strings.Builder
	for _, m := range [][2]string{{"gateway", "g1"}, {"gateway", "g2"}, {"runner", "r1"}, {"runner", "r2"}, {"runner", "r3"}, {"auditor", "auditor"}} {
		role, name := m[0], m[1]
		flags = append(flags, "--"+role, name+"="+f.key(name))
		if role == "gateway" {
			fmt.Fprintf(&signers, "%s %s\n", f.key("sign-"+name), name)
		}
	}
	f.write("gateways", signers.String())
	return flags
}

// key makes a key and returns its public half.
func (f *fleet) key(name string) string {
	f.t.Helper()
	out, err := exec.Command(f.bin, "engine", "key", filepath.Join(f.dir, name+".nk")).Output()
	must(f.t, err)
	return strings.TrimSpace(string(out))
}

// ordinary are the settings that a machine without a fleet has as well.
func (f *fleet) ordinary(m *member) []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + m.home, "TIPSTAFF_PATH=" + filepath.Join(f.dir, "bin"),
		"TIPSTAFF_STATE_DIR=" + m.state, "ENABLE_TERMINAL_ACCESS=true",
		"TIPSTAFF_CONFIG=" + f.write("policy.yaml", "version: 1\ncommands:\n  "+witnessName+": {allow: [\"*\"]}\n"),
	}
}

// servers are the addresses of all servers of NATS.
func (f *fleet) servers() string {
	var all []string
	for i := 1; i <= 3; i++ {
		all = append(all, fmt.Sprintf("%s10.77.0.%d:4222", f.scheme(), i))
	}
	return strings.Join(all, ",")
}

// common are the settings of every member.
func (f *fleet) common(m *member) []string {
	return append(append(f.ordinary(m), f.shows(m.on.name)...),
		"TIPSTAFF_ENGINE="+f.servers(),
		"TIPSTAFF_ENGINE_CREDENTIALS="+filepath.Join(f.dir, m.on.name+".nk"),
		"TIPSTAFF_ENGINE_SEAL="+filepath.Join(f.dir, "seal"),
		"TIPSTAFF_RUNNER_NAME="+m.on.name,
	)
}

// place makes the directories and the machine of a member.
func (f *fleet) place(name string, number int) *member {
	f.t.Helper()
	home := filepath.Join(f.dir, name)
	m := &member{home: home, work: filepath.Join(home, "work"), state: filepath.Join(home, "state")}
	must(f.t, os.MkdirAll(m.work, 0o755))
	m.process = process{t: f.t, on: f.lan.machine(name, number), dir: m.work, log: filepath.Join(home, "log")}
	return m
}

func (f *fleet) gateway(i int) *member {
	m := f.place(fmt.Sprintf("g%d", i), 20+i)
	m.argv = []string{f.bin, "serve", "--http", m.on.addr + ":7075"}
	m.env = append(f.common(m),
		"TIPSTAFF_GATEWAY_NAME="+m.on.name, "TIPSTAFF_ENGINE_KEY="+filepath.Join(f.dir, "sign-"+m.on.name+".nk"), "TIPSTAFF_ENGINE_PATIENCE=5000",
		"TIPSTAFF_TOKENS_FILE="+filepath.Join(f.dir, "tokens.yaml"), "TIPSTAFF_HTTP_RATE=100000",
	)
	f.urls = append(f.urls, "http://"+m.on.addr+":7075/mcp")
	return m
}

func (f *fleet) runner(i int) *member {
	m := f.place(fmt.Sprintf("r%d", i), 10+i)
	m.argv = []string{f.bin, "runner"}
	m.env = append(f.common(m),
		"TIPSTAFF_RUNNER_NAME="+m.on.name, "TIPSTAFF_RUNNER_DRAIN=3000",
		"TIPSTAFF_ENGINE_GATEWAYS="+filepath.Join(f.dir, "gateways"), "TIPSTAFF_RUNNER_CAPACITY=100", "TERMINAL_MAX_SESSIONS=100",
		"ALLOWED_CWD_ROOTS="+m.work, "TIPSTAFF_MAX_TIMEOUT=60000",
	)
	if m.strict = i == 3; m.strict {
		m.env = append(m.env, "TIPSTAFF_ENGINE_AUDIT=strict")
	}
	return m
}

// ready reports whether a gateway says that it can serve.
func (f *fleet) ready(g *member) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.on.addr+":7075/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// says is the end of every log.
func (f *fleet) says(lines int) string {
	var all []string
	for _, m := range f.members() {
		all = append(all, m.tail(lines))
	}
	for _, n := range f.engine {
		all = append(all, n.tail(3))
	}
	return strings.Join(all, "\n\n")
}

// end stops everything, gateways first.
func (f *fleet) end() {
	f.leave()
	for _, n := range f.engine {
		n.stop(30 * time.Second)
	}
}

// leave stops gateways and runners, while NATS is there.
func (f *fleet) leave() {
	for _, m := range f.members() {
		m.stop(30 * time.Second)
	}
}

// started counts how often each command was started, over all runners.
func (f *fleet) started() map[string]int {
	f.t.Helper()
	count := map[string]int{}
	runners := f.runners
	if f.twin != nil {
		runners = append(slices.Clone(runners), f.twin)
	}
	for _, r := range runners {
		for id, n := range f.startedOn(r) {
			count[id] += n
		}
	}
	return count
}

// startedOn counts those of one runner.
func (f *fleet) startedOn(r *member) map[string]int {
	f.t.Helper()
	count := map[string]int{}
	file, err := os.Open(filepath.Join(r.work, startedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return count
	}
	must(f.t, err)
	defer func() { _ = file.Close() }()
	s := bufio.NewScanner(file)
	for s.Scan() {
		count[s.Text()]++
	}
	must(f.t, s.Err())
	return count
}

// agents lets agents work until the function that it returns is called, which
// waits for them.
func (f *fleet) agents(n int, tenant string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		a := newAgent(f.ledger, f.urls, tokens[tenant], fmt.Sprintf("%s%d", tenant, i), uint64(i))
		all.Go(func() { a.work(ctx) })
	}
	return func() { cancel(); all.Wait() }
}
