//go:build linux && !race

package pages

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"

	"tipstaff/e2e/kit"
)

func TestMain(m *testing.M) {
	if os.Getenv(apart) != "" {
		fmt.Fprintln(os.Stderr, becomeShell())
		os.Exit(1)
	}
	os.Exit(kit.Main(m))
}

// tally counts blocks, and keeps why some were not run.
type tally struct {
	mu       sync.Mutex
	pages    int
	commands int
	blocks   map[string]int
	notRun   []string
}

// TestWhatThePagesSayIsTrue runs the pages.
func TestWhatThePagesSayIsTrue(t *testing.T) {
	sum := &tally{blocks: map[string]int{}}
	t.Run("pages", func(t *testing.T) {
		for _, path := range pages(t) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				(&page{path: path, home: home(t), sum: sum}).play(t)
			})
		}
	})
	t.Logf("commands that were run: %d; blocks: %v; blocks that were not run: %d", sum.commands, sum.blocks, len(sum.notRun))
	for _, why := range sum.notRun {
		t.Log(why)
	}
	if sum.pages == len(pages(t)) && sum.commands < 80 {
		t.Errorf("only %d commands were found in all pages: are they read at all?", sum.commands)
	}
}

// page is one that is played.
type page struct {
	path  string
	home  string
	sum   *tally
	shell *shell
	agent *kit.Server
}

func (p *page) play(t *testing.T) {
	for _, b := range blocks(t, p.path) {
		at := fmt.Sprintf("%s:%d", strings.TrimPrefix(p.path, top+"/"), b.line)
		if why := b.say("not run"); why != "" {
			p.sum.mu.Lock()
			p.sum.notRun = append(p.sum.notRun, at+": "+why)
			p.sum.mu.Unlock()
			continue
		}
		p.before(t, b, at)
		p.block(t, b, at)
		p.sum.mu.Lock()
		p.sum.blocks[b.language]++
		p.sum.mu.Unlock()
	}
	p.sum.mu.Lock()
	p.sum.pages++
	p.sum.mu.Unlock()
}

// before does what comes before a block.
func (p *page) before(t *testing.T, b block, at string) {
	t.Helper()
	for _, m := range b.marks {
		switch m.kind {
		case "first":
			if says, code := p.bash(t).run(t, m.text); code != "0" {
				t.Fatalf("%s: what comes before it, %q, ends with %s:\n%s", at, m.text, code, says)
			}
		case "calls":
			p.ask(t, m.text)
		}
	}
}

// block holds one block to the truth.
func (p *page) block(t *testing.T, b block, at string) {
	t.Helper()
	if call := b.say("agent"); call != "" {
		p.compare(t, at+": the agent is told", b.text, p.ask(t, call))
		return
	}
	switch b.language {
	case "sh", "console", "bash":
		p.enter(t, b)
	case "json":
		for dec := json.NewDecoder(strings.NewReader(b.text)); dec.More(); {
			var v any
			if err := dec.Decode(&v); err != nil {
				t.Errorf("%s: it is not JSON: %v", at, err)
				break
			}
		}
	case "yaml":
		p.yaml(t, b, at)
	}
}

// enter types the commands of a block.
func (p *page) enter(t *testing.T, b block) {
	t.Helper()
	s := p.bash(t)
	for _, line := range b.said("types") {
		_, err := fmt.Fprintln(s.terminal, line)
		must(t, err)
	}
	codes := strings.Fields(b.say("exits"))
	for i, c := range b.commands() {
		want := "0"
		if i < len(codes) {
			want = codes[i]
		}
		at := fmt.Sprintf("%s:%d: %s", strings.TrimPrefix(p.path, top+"/"), c.line, c.text)
		says, code := s.do(t, c.text)
		if testing.Verbose() {
			t.Logf("%s\n%s", at, says)
		}
		if code != want {
			t.Errorf("%s\nends with %s, not with %s:\n%s", at, code, want, says)
		}
		if c.shows != "" {
			p.compare(t, at, c.shows, says)
		}
		p.sum.mu.Lock()
		p.sum.commands++
		p.sum.mu.Unlock()
	}
}

func (p *page) bash(t *testing.T) *shell {
	t.Helper()
	if p.shell == nil {
		p.shell = start(t, p.home)
	}
	return p.shell
}

// ask asks a server, started as "tipstaff install" lets a client start it.
func (p *page) ask(t *testing.T, call string) string {
	t.Helper()
	tool, text, _ := strings.Cut(call, " ")
	var args map[string]any
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	if p.agent == nil {
		cmd := exec.Command(kit.Path(t), "serve")
		cmd.Dir = filepath.Join(p.home, "my-project")
		cmd.Env = []string{"HOME=" + p.home, "PATH=/usr/local/bin:/usr/bin:/bin"}
		settings, err := os.ReadFile(filepath.Join(p.home, ".config/tipstaff/environment"))
		if err == nil {
			for line := range strings.Lines(string(settings)) {
				if !strings.HasPrefix(line, "#") {
					cmd.Env = append(cmd.Env, strings.TrimSpace(line))
				}
			}
		}
		p.agent = &kit.Server{T: t, Cmd: cmd}
		p.agent.Connect()
	}
	says := p.agent.Call(tool, args).Text
	if all := aHandle.FindAllString(says, -1); len(all) > 0 {
		p.bash(t).handle = all[len(all)-1]
	}
	return says
}

// yaml checks a policy, or a part of one; other data is parsed.
func (p *page) yaml(t *testing.T, b block, at string) {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(b.text), &v); err != nil {
		t.Errorf("%s: it is not YAML: %v", at, err)
		return
	}
	text := b.text
	if _, ok := v["commands"]; ok && v["version"] == nil {
		text = "version: 1\n" + text
	} else if v["version"] == nil {
		return
	}
	file := filepath.Join(p.home, "policies", fmt.Sprintf("line-%d.yaml", b.line))
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file, []byte(text), 0o600))
	if says, code := p.bash(t).run(t, "tipstaff policy check "+file); code != "0" {
		t.Errorf("%s: a server would not take this policy:\n%s", at, says)
	}
}

// alike are forms of which any stands for any other.
var alike = []struct {
	form *regexp.Regexp
	as   string
}{
	{aHandle, "apr_…"},
	{regexp.MustCompile(`cmd_[A-Z2-7]{26}`), "cmd_…"},
	{regexp.MustCompile(`term-[\w.:-]+-[A-Z2-7]{26}`), "term-…"},
	{regexp.MustCompile(`\d{8}T\d{6}Z-\d+-[0-9a-f]{8}`), "trail"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?`), "time"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "time"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|µs)\b`), "0ms"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "sha256"},
	{regexp.MustCompile(`[ \t]+`), " "}, // columns are as wide as what is in them
	{regexp.MustCompile(` \n`), "\n"},
}

func plain(text string) string {
	for _, a := range alike {
		text = a.form.ReplaceAllString(text, a.as)
	}
	return strings.TrimSpace(text)
}

// compare holds what a page shows to what was said.
func (p *page) compare(t *testing.T, at, shows, says string) {
	t.Helper()
	says = strings.ReplaceAll(says, p.home, "/home/you")
	says = strings.ReplaceAll(says, kit.Path(t), "/home/you/.local/bin/tipstaff")
	says = strings.ReplaceAll(says, filepath.Dir(kit.Path(t)), "/home/you/.local/bin")
	var pattern strings.Builder
	for i, part := range strings.Split(plain(shows), "…") {
		if i > 0 {
			pattern.WriteString(`(?s:.*?)`)
		}
		pattern.WriteString(regexp.QuoteMeta(part))
	}
	if !regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(plain(says)) {
		t.Errorf("%s\nthe page shows\n%s\nand it is\n%s", at, shows, says)
	}
}
