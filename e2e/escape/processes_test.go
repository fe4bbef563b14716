//go:build linux && !race

package escape

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// {server} is the server, {maker} one of its own processes that makes commands
// and shares all of its memory, {victim} another process of the same user.

func TestEscapeE20AndE21TheServerIsNotLookedInto(t *testing.T) {
	var rows []escape
	for _, who := range []string{"server", "maker", "victim"} {
		in := "/proc/{" + who + "}/"
		rows = append(rows,
			escape{says: "E20 variables of the " + who, try: "read " + in + "environ", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E20 memory of the " + who, try: "open-read " + in + "mem", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E20 memory of the " + who + ", for writing", try: "open-write " + in + "mem", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E20 the map of the memory of the " + who, try: "read " + in + "maps", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E20 the numbers of descriptors of the " + who, try: "list " + in + "fd", namespaces: "ENOENT", landlock: "ok"}, // only modes protect them
			escape{says: "E20 what is open in the " + who, try: "readlink " + in + "fd/0", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E20 the root of the " + who, try: "list " + in + "root/", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E20 the directory of the " + who, try: "list " + in + "cwd/", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E20 a namespace of the " + who, try: "open-read " + in + "ns/mnt", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E20 how soon the kernel kills the " + who, try: "open-write " + in + "oom_score_adj", namespaces: "ENOENT", landlock: "EACCES"},
			escape{says: "E21 that there is the " + who, try: "see {" + who + "}", namespaces: "ESRCH", landlock: "ok"},
			escape{says: "E21 the command line of the " + who, try: "read " + in + "cmdline", namespaces: "ENOENT", landlock: "ok"},
		)
	}
	for _, file := range []string{"environ", "maps", "mem", "cwd/", "root/", "exe", "fd/0", "ns/mnt"} {
		rows = append(rows, escape{
			says: "E20 " + file + " of the first process of the namespace", try: "open-read /proc/1/" + file, namespaces: "EACCES",
			noControl: "a first process with the user's rights is there in namespaces alone",
		})
	}
	tried(t, habitat{}, rows, nil)
}

func TestEscapeE22AndE24OtherProcessesAreNotTouched(t *testing.T) {
	rows := []escape{
		{says: "E22 the memory of the victim is not read", try: "vm-read {victim} {address}", namespaces: "ESRCH", landlock: "EPERM"},
		{says: "E22 nor written", try: "vm-write {victim} {address}", namespaces: "ESRCH", landlock: "EPERM"},
		{says: "E22 nor advised about", try: "process-madvise {victim} {address}", namespaces: "ESRCH", landlock: "EPERM EACCES", rootOnly: "it takes CAP_SYS_NICE"},
		{says: "E22 the victim is not traced", try: "ptrace {victim}", namespaces: "ESRCH", landlock: "EPERM"},
		{says: "E22 nor what makes commands, with the memory of the server", try: "ptrace {maker}", namespaces: "ESRCH", landlock: "EPERM",
			noControl: "what makes commands shares the server's memory, and a stop would hold up the server"},
		{says: "E22 the first process of the namespace is not traced", try: "ptrace 1", namespaces: "EPERM",
			noControl: "a first process with the user's rights is there in namespaces alone"},
		{says: "E22 the server is not made a tracer", try: "traced", namespaces: "EPERM", landlock: "EPERM",
			noControl: "the server would wait for an attempt that has stopped; a child of the attempt is traced below"},
		{says: "E22 the server that has made a connection is not taken from", try: "peer-pidfd", namespaces: "EPERM", landlock: "EPERM"},
		{says: "E22 an own process is traced", try: "trace-own", namespaces: "ok", landlock: "ok"},
		{says: "E22 a tracer changes where its tracee connects", try: "trace-connect {ws}/socket", namespaces: "EACCES", landlock: "EACCES", gets: welcome, before: service},
	}
	for _, who := range []string{"victim", "server"} {
		rows = append(rows,
			escape{says: "E22 a descriptor of the " + who + " is not taken", try: "pidfd-getfd {" + who + "} 0", namespaces: "ESRCH", landlock: "EPERM"},
			escape{says: "E22 the " + who + " is not compared with", try: "kcmp {" + who + "}", namespaces: "ESRCH", landlock: "EPERM"},
			escape{says: "E24 limits of the " + who + " are not lowered", try: "prlimit {" + who + "}", namespaces: "EPERM ESRCH", landlock: "EPERM"},
			escape{says: "E24 nor asked for: " + who, try: "ask-limit {" + who + "}", namespaces: "EPERM ESRCH", landlock: "EPERM"},
		)
	}
	tried(t, habitat{}, rows, nil)
}

// TestEscapeE51ACommandThatItsOwnTracerHoldsIsEnded: the kernel does not report the end of a
// program whose tracer does not ask for it. The time limit ends both.
func TestEscapeE51ACommandThatItsOwnTracerHoldsIsEnded(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{noControl: true}, func(t *testing.T, w *world) {
		r := w.On(t).Process("testcmd", []string{"attempt", "held"}, kit.Args{"timeout_ms": 4000})
		if !strings.Contains(r.Text, "seized") || !strings.Contains(r.Text, "timeout") {
			t.Errorf("it was not held until the time limit:\n%s", r.Text)
		}
		kit.Eventually(t, "its tracer has ended", func() bool {
			lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, line := range lines {
				text, _ := os.ReadFile(line)
				st, err := os.Stat(line)
				if err == nil && bytes.Contains(text, []byte("\x00hold\x00")) && st.Sys().(*syscall.Stat_t).Uid == uint32(w.uid) {
					return false
				}
			}
			return true
		})
		w.On(t).Command("true").Ran()
	})
}

// TestEscapeE25OthersAreNotHeldUp has worlds of its own, because the server of
// the control is slow afterwards.
func TestEscapeE25OthersAreNotHeldUp(t *testing.T) {
	var rows []escape
	for _, who := range []string{"victim", "server"} {
		rows = append(rows,
			// Landlock does not control this. A root without capabilities may
			// not do it to a process that has some.
			escape{says: "E25 the " + who + " is not made slower", try: "renice {" + who + "}", namespaces: "ESRCH", landlock: "ok EPERM"},
			escape{says: "E25 nor kept from processors: " + who, try: "affinity {" + who + "}", namespaces: "ESRCH", landlock: "ok EPERM"},
			escape{says: "E25 nor from the disk: " + who, try: "ionice {" + who + "}", namespaces: "ESRCH", landlock: "ok EPERM"},
			escape{says: "E25 nor scheduled otherwise: " + who, try: "schedule {" + who + "}", namespaces: "ESRCH", landlock: "ok EPERM"},
		)
	}
	tried(t, habitat{}, rows, nil)
}

func TestEscapeE23NoSignalReachesOthers(t *testing.T) {
	const usr1 = "10"
	rows := []escape{
		{says: "E23 to all there are", try: "kill-all {harmless}", namespaces: "ok ESRCH EPERM", landlock: "ok EPERM", signals: true,
			before: func(t *testing.T, p *spot) { p.bringVictim(t) }},
	}
	for _, way := range []string{"kill", "kill-group", "tkill", "tgkill", "sigqueue", "tgsigqueue", "pidfd-kill", "proc-kill"} {
		rows = append(rows, escape{says: "E23 by " + way, try: way + " {victim} " + usr1, namespaces: "ESRCH ENOENT", landlock: "EPERM", signals: true})
	}
	for _, way := range []string{"own", "own-ex"} { // the kernel sends it later, and reports no error
		rows = append(rows, escape{says: "E23 by way of a descriptor: " + way, try: way + " {victim} " + usr1, namespaces: "ESRCH", landlock: "ok EPERM", signals: true})
	}
	tried(t, habitat{}, rows, nil)
}

// TestEscapeE23TheServerIsNotEnded. The control: without a sandbox it is.
func TestEscapeE23TheServerIsNotEnded(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(signal.String(), func(t *testing.T) {
			everywhere(t, habitat{}, func(t *testing.T, w *world) {
				pid := w.Cmd.Process.Pid
				if w.tier == kit.None {
					go func() { _, _ = w.Session.CallTool(t.Context(), killing(pid, signal)) }() // it gets no answer
					kit.Eventually(t, "the server has ended or stopped", func() bool { return kit.Gone(pid, 0) || stateOf(pid) == "T" })
					_ = syscall.Kill(pid, syscall.SIGKILL)
					return
				}
				r, err := w.Session.CallTool(t.Context(), killing(pid, signal))
				if err != nil {
					t.Fatal(err)
				}
				if o := outcomeOf(t, kit.Reply{T: t, Text: textOf(r), Result: r}); o.OK {
					t.Error("the kernel says that it was sent")
				}
				w.On(t).Command("true").Ran()
			})
		})
	}
}

// maker is a child of the server.
func (w *world) maker(t *testing.T) string {
	t.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", w.Cmd.Process.Pid))
	for _, task := range tasks {
		data, _ := os.ReadFile(task)
		for pid := range strings.FieldsSeq(string(data)) {
			line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if bytes.Contains(line, []byte("serve")) { // the server's own, and not the first of a PID namespace
				return pid
			}
		}
	}
	t.Fatalf("%v has no process that makes commands", w)
	return ""
}

func stateOf(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(data), ") ")
	state, _, _ := strings.Cut(after, " ")
	return state
}

// killing is a call that sends the server a signal.
func killing(pid int, signal syscall.Signal) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{
		"file": "testcmd", "args": []string{"attempt", "kill", strconv.Itoa(pid), strconv.Itoa(int(signal))},
	}}
}

func textOf(r *mcp.CallToolResult) string {
	if len(r.Content) == 1 {
		if text, ok := r.Content[0].(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return ""
}
