package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
	"tipstaff/internal/cli/flags"
	"tipstaff/internal/cli/trails"
	"tipstaff/internal/exit"
	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server"
	"tipstaff/internal/server/config"
	"tipstaff/internal/strictjson"
	"tipstaff/internal/tty"
)

func newDemo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show what tipstaff does, with real commands, in ten seconds",
		Long: `Start a server in this process with an allowlist of its own, in a fresh
temporary directory, and do through the protocol what an agent would do.
Nothing outside of the temporary directory is touched, and it is removed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), cmd.OutOrStdout()) },
	}
}

// demo runs one part after the other and stops at the first that fails.
func demo(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "tipstaff-demo-")
	if err != nil {
		return exit.Errorf(exit.Failure, "cannot make a directory for the demo: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	settings, err := demoSettings(dir)
	if err != nil {
		return exit.Errorf(exit.Failure, "cannot prepare the demo: %w", err)
	}
	st, err := server.New(settings, server.NewLog(io.Discard))
	if err != nil {
		return err
	}
	client, err := mcpserver.Connect(ctx, st.Front(), "tipstaff-demo")
	if err != nil {
		st.Close("demo failed")
		return exit.Errorf(exit.Failure, "%w", err)
	}
	d := &demonstration{out: out, dir: dir, client: client, home: settings.Home, tier: st.Sandbox.Status().Tier}
	d.say("tipstaff runs commands for AI agents. This is a server in its own process, spoken to over MCP.")
	d.say("Allowed here: %s. Everything happens in %s.", strings.ReplaceAll(settings.AllowedCommands, ",", ", "), dir)
	for _, part := range []func(context.Context) error{d.allowed, d.script, d.session, d.refusal, d.timeout, d.escape} {
		if err = part(ctx); err != nil {
			break
		}
	}
	_ = client.Close()
	st.Close("demo ended")
	if err == nil {
		err = d.trail(settings.AuditDir())
	}
	if err != nil {
		return exit.Errorf(exit.Failure, "the demo did not go as it should: %w", err)
	}
	d.say("\nThat is the whole of it. Add it to your agent: README.md says how.")
	return nil
}

func demoSettings(dir string) (config.Settings, error) {
	workspace, state := filepath.Join(dir, "workspace"), filepath.Join(dir, "state")
	list := filepath.Join(dir, "tools-allow.json")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		return config.Settings{}, err
	}
	if err := os.WriteFile(filepath.Join(workspace, "notes.txt"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		return config.Settings{}, err
	}
	if err := os.WriteFile(list, []byte(`["ls", "wc"]`), 0o600); err != nil {
		return config.Settings{}, err
	}
	environ := append(os.Environ(),
		"ALLOWED_COMMANDS=cat,ls,sh,sort,wc", "TIPSTAFF_SHELL=write", "ALLOWED_CWD_ROOTS="+workspace,
		"ENABLE_TERMINAL_ACCESS=true", "TERMINAL_ALLOWLIST_PATH="+list, "TIPSTAFF_STATE_DIR="+state)
	s, err := config.FromEnvironment(flags.LastWins(environ))
	s.ConfigFile = "" // the demo needs only the binary
	return s, err
}

// demonstration is a running demo.
type demonstration struct {
	out    io.Writer
	dir    string
	client *mcpserver.Client
	home   string
	tier   string // of the sandbox
	parts  int
}

func (d *demonstration) say(format string, args ...any) { tty.Say(d.out, format, args...) }

func (d *demonstration) title(s string) {
	d.parts++
	d.say("\n%d. %s", d.parts, s)
}

// call calls a tool and prints the call and the answer.
func (d *demonstration) call(ctx context.Context, tool string, args map[string]any) (mcpserver.Answer, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // for readability
	if err := enc.Encode(args); err != nil {
		return mcpserver.Answer{}, err
	}
	input := bytes.TrimSpace(b.Bytes())
	d.say("   → %s %s", tool, input)
	answer, err := d.client.Call(ctx, tool, input)
	if err != nil {
		return answer, err
	}
	for line := range strings.Lines(strings.TrimRight(answer.Text, "\n")) {
		d.say("   │ %s", strings.TrimRight(line, "\n"))
	}
	return answer, nil
}

func (d *demonstration) workspace() string { return filepath.Join(d.dir, "workspace") }

func (d *demonstration) allowed(ctx context.Context) error {
	d.title("A command that is allowed. It runs without a shell; the answer is made for a model to read.")
	a, err := d.call(ctx, "execute_command", map[string]any{"command": "wc -l notes.txt", "cwd": d.workspace()})
	if err != nil {
		return err
	}
	return expect(!a.IsError && strings.Contains(a.Text, "3 notes.txt"), "wc did not count three lines")
}

// script needs a sandbox, like execute_shell itself.
func (d *demonstration) script(ctx context.Context) error {
	if d.tier == sandbox.None.String() {
		return nil
	}
	d.title("A shell script: each command in it is judged by itself. In the second one, rm is not allowed, so nothing of it has run.")
	a, err := d.call(ctx, "execute_shell", map[string]any{"script": "sort -r notes.txt > sorted.txt && cat sorted.txt | wc -l", "cwd": d.workspace()})
	if err != nil {
		return err
	}
	if err := expect(!a.IsError && strings.Contains(a.Text, "3"), "the script did not count three lines"); err != nil {
		return err
	}
	a, err = d.call(ctx, "execute_shell", map[string]any{"script": "echo gone > sorted.txt; rm notes.txt", "cwd": d.workspace()})
	if err != nil {
		return err
	}
	sorted, err := os.ReadFile(filepath.Join(d.workspace(), "sorted.txt"))
	if err != nil {
		return err
	}
	return expect(a.IsError && !strings.Contains(string(sorted), "gone"), "the second script was not refused as a whole")
}

func (d *demonstration) session(ctx context.Context) error {
	d.title("A session: its commands share a directory and an environment. What could inject code is not passed on.")
	a, err := d.call(ctx, "terminal_create_session", map[string]any{
		"taskId": "DEMO-1", "agentId": "demo", "workingDirectory": d.workspace(),
		"environment": map[string]string{"CI": "true", "LD_PRELOAD": "/tmp/evil.so"},
	})
	if err != nil {
		return err
	}
	var made struct {
		SessionID          string   `json:"sessionId"`
		DroppedEnvironment []string `json:"droppedEnvironment"`
	}
	if err := strictjson.Unmarshal([]byte(a.Text), &made); err != nil {
		return err
	}
	if err := expect(len(made.DroppedEnvironment) == 1, "LD_PRELOAD was not dropped"); err != nil {
		return err
	}
	for _, args := range [][]string{{"ls", "-a"}, {"wc", "-w", "notes.txt"}} {
		a, err := d.call(ctx, "terminal_execute_command", map[string]any{"sessionId": made.SessionID, "command": args[0], "args": args[1:]})
		if err != nil {
			return err
		}
		if err := expect(!a.IsError && strings.Contains(a.Text, "notes.txt"), args[0]+" did not see the session's directory"); err != nil {
			return err
		}
	}
	_, err = d.call(ctx, "terminal_close_session", map[string]any{"sessionId": made.SessionID})
	return err
}

func (d *demonstration) refusal(ctx context.Context) error {
	d.title("Refusals that teach: a program that is not on the list, and a line that only a shell could run.")
	for _, line := range []string{"rm -rf notes.txt", "cat notes.txt | wc -l"} { // the second is told of execute_shell
		a, err := d.call(ctx, "execute_command", map[string]any{"command": line, "cwd": d.workspace()})
		if err != nil {
			return err
		}
		if err := expect(a.IsError, "it was not refused: "+line); err != nil {
			return err
		}
	}
	_, err := os.Stat(filepath.Join(d.workspace(), "notes.txt"))
	return err
}

// tree is a script that starts two more processes, each of which writes a line
// again and again while it lives, and waits for much longer than its timeout.
const tree = "for i in 1 2; do (while :; do echo $i lives >> beats; sleep 0.05; done) & done; wait"

func (d *demonstration) timeout(ctx context.Context) error {
	d.title("A timeout ends the whole tree: the operator has allowed sh here, and its script starts two more that write to a file.")
	started := time.Now()
	a, err := d.call(ctx, "execute_process", map[string]any{"file": "sh", "args": []string{"-c", tree}, "cwd": d.workspace(), "timeout_ms": 700})
	if err != nil {
		return err
	}
	took := time.Since(started)
	if err := expect(a.IsError && strings.Contains(a.Text, "exit_code: 124"), "it was not timed out"); err != nil {
		return err
	}
	before, err := os.Stat(filepath.Join(d.workspace(), "beats"))
	if err != nil {
		return err
	}
	const watched = 300 * time.Millisecond // six times as long as the processes sleep
	time.Sleep(watched)
	after, err := os.Stat(filepath.Join(d.workspace(), "beats"))
	if err != nil {
		return err
	}
	d.say("   The answer came after %d ms. In the %d ms since then, %d bytes were written.", took.Milliseconds(), watched.Milliseconds(), after.Size()-before.Size())
	return expect(after.Size() == before.Size(), "processes were left behind")
}

// escape tries to write outside of the workspace and to read the records, both
// of which the server's user may do.
func (d *demonstration) escape(ctx context.Context) error {
	if d.tier == sandbox.None.String() {
		d.title("An escape: not tried, because this machine gives no sandbox. tipstaff doctor says why.")
		return nil
	}
	d.title("An escape, from the same sh: to leave a file in your home, and to look at the records. Tier: " + d.tier + ".")
	outside := filepath.Join(d.home, ".tipstaff-demo-was-here")
	for _, script := range []string{"echo gotcha > " + outside, "cat " + filepath.Join(d.dir, "state", "audit") + "/*/*"} {
		a, err := d.call(ctx, "execute_process", map[string]any{"file": "sh", "args": []string{"-c", script}, "cwd": d.workspace()})
		if err != nil {
			return err
		}
		if err := expect(!strings.Contains(a.Text, "exit_code: 0"), "it was not kept from: "+script); err != nil {
			return err
		}
	}
	_, err := os.Stat(outside)
	return expect(os.IsNotExist(err), "a file was left in the home")
}

func (d *demonstration) trail(dir string) error {
	d.title("The record: one line before each start, one after each end, refusals too, each chained to the one before.")
	d.say("   → tipstaff audit verify")
	report, err := audit.Verify(dir, audit.VerifyOptions{})
	if err != nil {
		return err
	}
	for _, t := range report.Trails {
		d.say("   │ %s", trails.ReportLine(t))
	}
	return expect(report.Status() == audit.OK && len(report.Trails) == 1, "the trail does not verify")
}

func expect(ok bool, otherwise string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s", otherwise)
}
