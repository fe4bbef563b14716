package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/internal/run/job"
)

// connectWithPages is connect for a client that shows pages.
func connectWithPages(t *testing.T, o Options) *mcp.ClientSession {
	t.Helper()
	return connectDeclaring(t, o, map[string]any{"mimeTypes": []string{appsMIME}})
}

func connectDeclaring(t *testing.T, o Options, settings map[string]any) *mcp.ClientSession {
	t.Helper()
	has := &mcp.ClientCapabilities{}
	has.AddExtension(appsName, settings)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: has}).Connect(t.Context(), serve(t, o), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func declared(t *testing.T, cs *mcp.ClientSession) map[string]*mcp.Tool {
	t.Helper()
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*mcp.Tool{}
	for _, m := range list.Tools {
		all[m.Name] = m
	}
	return all
}

func TestAClientWithPagesIsToldWhichToolsHaveOneAndWhatAPageMayCall(t *testing.T) {
	_, o := newLasting(t, 4)
	cs := connectWithPages(t, o)
	if _, declared := cs.InitializeResult().Capabilities.Extensions[appsName]; !declared {
		t.Error("the server does not declare the extension")
	}
	for name, m := range declared(t, cs) {
		got, err := json.Marshal(m.Meta["ui"])
		if err != nil {
			t.Fatal(err)
		}
		want := `{"visibility":["model"]}`
		switch name {
		case "watch_command", "stop_watched_command", "answer_watched_question":
			want = `{"visibility":["app"]}`
		case "execute_command", "execute_process", "execute_shell", "terminal_execute_command":
			want = `{"resourceUri":"ui://tipstaff/command","visibility":["model"]}`
		}
		if string(got) != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
	list, err := cs.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != commandPage || list.Resources[0].MIMEType != appsMIME {
		t.Fatalf("%+v, %v", list, err)
	}
	page, err := read(t, cs, commandPage)
	if err != nil || page.MIMEType != appsMIME || !strings.HasPrefix(page.Text, "<!DOCTYPE html>") {
		t.Fatalf("%+v, %v", page, err)
	}
	if got, _ := json.Marshal(page.Meta["ui"]); string(got) != `{"csp":{"baseUriDomains":[],"connectDomains":[],"frameDomains":[],"resourceDomains":[]},"prefersBorder":true}` {
		t.Errorf("its security is %s", got)
	}
}

func TestAClientWithoutPagesSeesNothingOfThem(t *testing.T) {
	t.Parallel()
	_, o := newLasting(t, 8)
	for what, cs := range map[string]*mcp.ClientSession{
		"declares nothing":             connect(t, o),
		"declares no kind of page":     connectDeclaring(t, o, nil),
		"declares another kind":        connectDeclaring(t, o, map[string]any{"mimeTypes": []string{"text/html"}}),
		"declares what is no list":     connectDeclaring(t, o, map[string]any{"mimeTypes": appsMIME}),
		"declares what cannot be read": connectDeclaring(t, o, map[string]any{"mimeTypes": []any{1, nil}}),
	} {
		t.Run(what, func(t *testing.T) {
			if _, told := cs.InitializeResult().Capabilities.Extensions[appsName]; told {
				t.Error("it is told of the extension")
			}
			all := declared(t, cs)
			for name, m := range all {
				if m.Meta != nil {
					t.Errorf("%s has %v", name, m.Meta)
				}
			}
			names := ToolNames(true)
			for name := range all {
				if !slices.Contains(names, name) {
					t.Errorf("it is told of %s", name)
				}
			}
			if list, err := cs.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 0 {
				t.Errorf("%+v, %v", list, err)
			}
			_, one := read(t, cs, commandPage)
			_, none := read(t, cs, "ui://tipstaff/other")
			if one == nil || none == nil || strings.ReplaceAll(one.Error(), "command", "other") != none.Error() {
				t.Errorf("%v\n%v", one, none)
			}
			for _, name := range []string{"watch_command", "stop_watched_command", "answer_watched_question"} {
				_, one := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
				_, none := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "other", Arguments: map[string]any{}})
				if one == nil || none == nil || strings.ReplaceAll(one.Error(), name, "other") != none.Error() {
					t.Errorf("%v\n%v", one, none)
				}
			}
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_command", Arguments: map[string]any{"command": "x", "background": true}})
			if err != nil || res.IsError || res.Meta[commandIDMeta] != nil {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// TestAClientOfTheStatefulProtocolDeclaresPagesOnce, with initialize; the client of
// the library speaks the other one.
func TestAClientOfTheStatefulProtocolDeclaresPagesOnce(t *testing.T) {
	_, o := newLasting(t, 4)
	for _, declared := range []bool{true, false} {
		say, hear, _ := lines(t, o)
		has := ""
		if declared {
			has = `"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}`
		}
		say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"},"capabilities":{` + has + `}}}`)
		if got := hear(); strings.Contains(got, `"extensions":{"io.modelcontextprotocol/ui":{}}`) != declared {
			t.Errorf("declared %v: %s", declared, got)
		}
		say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if got := hear(); strings.Contains(got, `"_meta":{"ui":{`) != declared || strings.Contains(got, "watch_command") != declared {
			t.Errorf("declared %v: %s", declared, got)
		}
		say(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"ui://tipstaff/command"}}`)
		if got := hear(); strings.Contains(got, appsMIME) != declared {
			t.Errorf("declared %v: %s", declared, got)
		}
	}
}

func TestAServerThatKeepsNoOutputHasNoPage(t *testing.T) {
	_, o := newLasting(t, 4)
	o.Outputs = nil
	cs := connectWithPages(t, o)
	for name, m := range declared(t, cs) {
		if m.Meta != nil || strings.Contains(name, "watch") {
			t.Errorf("%s has %v", name, m.Meta)
		}
	}
}

func watching(t *testing.T, cs *mcp.ClientSession, tool string, a map[string]any) watched {
	t.Helper()
	text, failed := calling(t, cs, tool, a)
	var w watched
	if err := json.Unmarshal([]byte(text), &w); err != nil || failed {
		t.Fatalf("%s: %s", tool, text)
	}
	return w
}

func TestAPageFollowsTheCommandOfACallThatIsNotAnswered(t *testing.T) {
	l, o := newLasting(t, 4)
	cs := connectWithPages(t, o)
	answer := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_command", Arguments: map[string]any{"command": "build", "timeout_ms": 60_000}})
		if err != nil {
			t.Error(err)
		}
		answer <- res
	}()
	w := followed(t, cs, `{ "timeout_ms": 60000, "command": "build" }`)
	if w.CommandID != "cmd_1" || w.Text != "build\n" || w.NextOffset != 6 || w.Line != "build" || !w.Kept || w.ExitCode != nil {
		t.Errorf("%+v", w)
	}
	l.ends <- 3
	w = watching(t, cs, "watch_command", map[string]any{"command_id": "cmd_1", "offset": 6, "wait_ms": 30_000})
	if w.State != "exited" || w.ExitCode == nil || *w.ExitCode != 3 || w.Text != "" {
		t.Errorf("%+v", w)
	}
	if res := <-answer; res.Meta[commandIDMeta] != "cmd_1" {
		t.Errorf("its answer has %v", res.Meta)
	}
	if w = watching(t, cs, "watch_command", map[string]any{"arguments": `{"command":"build","timeout_ms":60000}`}); w.State != watchUnknown {
		t.Errorf("an answered call is found: %+v", w)
	}
}

// followed watches by arguments until the command runs and has printed its line.
func followed(t *testing.T, cs *mcp.ClientSession, arguments string) watched {
	t.Helper()
	for {
		w := watching(t, cs, "watch_command", map[string]any{"arguments": arguments, "wait_ms": 1000})
		if w.State == "running" && w.Text != "" {
			return w
		}
		if t.Context().Err() != nil {
			t.Fatal("it never ran")
		}
	}
}

// TestAPageStopsTheCommandThatItsCallWaitsFor; e2e stops one in the background,
// which needs a real one.
func TestAPageStopsTheCommandThatItsCallWaitsFor(t *testing.T) {
	_, o := newLasting(t, 4)
	cs := connectWithPages(t, o)
	answer := make(chan string, 1)
	go func() {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_command", Arguments: map[string]any{"command": "build"}})
		if err != nil {
			t.Error(err)
		}
		answer <- textOf(t, res)
	}()
	followed(t, cs, `{"command":"build"}`)
	for range 2 { // the second time it has ended already
		if w := watching(t, cs, "stop_watched_command", map[string]any{"command_id": "cmd_1"}); w.State != watchState(job.Stopped) && w.State != watchState(job.Running) {
			t.Errorf("%+v", w)
		}
	}
	if text := <-answer; !strings.Contains(text, "Stopped by a person") {
		t.Errorf("the call is answered %s", text)
	}
}

func TestCallsThatAreEqualAreNotTakenForEachOther(t *testing.T) {
	l, o := newLasting(t, 4)
	cs := connectWithPages(t, o)
	var calls sync.WaitGroup
	begin := func(line string) {
		calls.Go(func() {
			if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_command", Arguments: map[string]any{"command": line}}); err != nil {
				t.Error(err)
			}
		})
	}
	begin("build")
	followed(t, cs, `{"command":"build"}`)
	begin("test")
	if w := followed(t, cs, `{"command":"test"}`); w.Text != "test\n" {
		t.Errorf("%+v", w)
	}
	begin("build")
	for watching(t, cs, "watch_command", map[string]any{"arguments": `{"command":"build"}`}).State != watchUnknown {
		if t.Context().Err() != nil {
			t.Fatal("one of two equal calls is taken for the other")
		}
	}
	l.ends <- 0
	l.ends <- 0
	l.ends <- 0
	calls.Wait()
}

func TestAPageTakesNothingFromWhatTheModelHasNotRead(t *testing.T) {
	_, o := newLasting(t, 4)
	cs := connectWithPages(t, o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_command", Arguments: map[string]any{"command": "build"}})
	}()
	followed(t, cs, `{"command":"build"}`)
	watching(t, cs, "stop_watched_command", map[string]any{"command_id": "cmd_1"})
	if text, failed := calling(t, cs, "read_output", map[string]any{"command_id": "cmd_1"}); failed || !strings.HasSuffix(text, "output: |\n  build\n") {
		t.Errorf("the model reads %s", text)
	}
	<-done
}

func TestAPageReachesNoCommandOfAnotherConnection(t *testing.T) {
	l, o := newLasting(t, 4)
	mine, other := connectWithPages(t, o), connectWithPages(t, o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = mine.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_command", Arguments: map[string]any{"command": "build"}})
	}()
	followed(t, mine, `{"command":"build"}`)
	if w := watching(t, other, "watch_command", map[string]any{"arguments": `{"command":"build"}`}); w.State != watchUnknown {
		t.Errorf("%+v", w)
	}
	for _, name := range []string{"watch_command", "stop_watched_command"} {
		if text, failed := calling(t, other, name, map[string]any{"command_id": "cmd_1"}); !failed || !strings.Contains(text, "COMMAND_NOT_FOUND") {
			t.Errorf("%s: %s", name, text)
		}
	}
	l.ends <- 0
	<-done
}

func TestThePageIsWholeAndLoadsNothing(t *testing.T) {
	page := commandPageText()
	if len(page) > 32<<10 {
		t.Errorf("it has %d bytes", len(page))
	}
	for _, bad := range []string{"{{", "http:", "https:", "src=", "href=", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "fetch(", "import", " style=", " onclick="} {
		if strings.Contains(page, bad) {
			t.Errorf("it has %s", bad)
		}
	}
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("it has %d scripts", n)
	}
	if !strings.Contains(page, `content="default-src 'none'; script-src 'sha256-`) {
		t.Error("it has no policy of its own")
	}
}
