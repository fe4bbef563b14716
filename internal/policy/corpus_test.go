package policy_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
)

// lines reads one JSON value from each line of a file of the corpus.
func lines[T any](t testing.TB, name string) []T {
	t.Helper()
	data, err := os.ReadFile("testdata/corpus/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	for line := range strings.Lines(string(data)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		all = append(all, v)
	}
	return all
}

// parseCase is a call of a tool, and whether it must run.
type parseCase struct {
	ID, Why, Tool string
	Args          json.RawMessage
	Allowed       []string
	Setup         struct {
		Files         map[string]string
		AllowlistFile *struct {
			Form  string
			Value json.RawMessage
		} `json:"allowlist_file"`
	}
	Verdict, Code, Rule string
}

// world returns the machine of a case, built as the corpus's own runner builds
// it.
func (c *parseCase) world(t *testing.T) *fakeWorld {
	w := allowing()
	w.files = map[string]string{}
	for name := range c.Setup.Files {
		w.files["/work/"+name] = ""
	}
	data, err := json.Marshal(c.Allowed)
	if err != nil {
		t.Fatal(err)
	}
	if f := c.Setup.AllowlistFile; f != nil {
		data = f.Value
		if f.Form == "raw" {
			var text string
			if err := json.Unmarshal(f.Value, &text); err != nil {
				t.Fatal(err)
			}
			data = []byte(text)
		}
	}
	w.allowed[tipstaff.Execute] = policy.ParseAllowlist(strings.Join(c.Allowed, ","), "ALLOWED_COMMANDS")
	w.allowed[tipstaff.Terminal] = policy.ParseAllowlistFile(data, "tools-allow.json")
	return w
}

// request returns the request that the tool would make; false if the front
// refuses the call because of the types of its arguments.
func (c *parseCase) request(t *testing.T) (tipstaff.Request, bool) {
	var in struct {
		Command, File *string
		Args          []*string
	}
	text := strings.NewReplacer("@{STUBS}", "/usr/bin", "@{WS}", "/work").Replace(string(c.Args))
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return tipstaff.Request{}, false
	}
	req := tipstaff.Request{Family: tipstaff.Execute}
	if c.Tool == "execute_command" {
		req.Line = *in.Command
		return req, true
	}
	name := in.File
	if c.Tool == "terminal_execute_command" {
		req.Family, name = tipstaff.Terminal, in.Command
	}
	if name == nil {
		return req, false
	}
	req.Argv = []string{*name}
	for _, arg := range in.Args {
		if arg == nil {
			return req, false
		}
		req.Argv = append(req.Argv, *arg)
	}
	return req, true
}

func TestDecideAgreesWithTheCorpus(t *testing.T) {
	for _, c := range lines[parseCase](t, "parse-cases.jsonl") {
		t.Run(c.ID+" "+c.Why, func(t *testing.T) {
			req, ok := c.request(t)
			if !ok {
				if c.Code != "INVALID_PARAMETERS" {
					t.Fatalf("cannot be asked: %s", c.Args)
				}
				return
			}
			d := decide(t, c.world(t), req)
			if (d.Effect == policy.Allow) != (c.Verdict == "allow") {
				t.Errorf("%q: want %s, got %s", req.Argv, c.Verdict, answer(d))
			}
			if !strings.Contains(answer(d), c.Code) {
				t.Errorf("%q: want %s, got %s", req.Argv, c.Code, answer(d))
			}
			if _, want, ok := strings.Cut(c.Rule, "-"); ok {
				want = strings.TrimSuffix(want, "-token")
				want = strings.ReplaceAll(want, "operator", "chaining")
				if got := d.Deciding().Rule; got != "arguments/"+want {
					t.Errorf("%q: want the rule %s, got %s", req.Argv, want, got)
				}
			}
		})
	}
}

// TestB10BenignCommandsPass: commands of public repositories. Those that start
// a shell of their own are refused by design.
func TestB10BenignCommandsPass(t *testing.T) {
	type command struct {
		ID, Expect string
		Argv       []string
	}
	all := lines[command](t, "benign.jsonl")
	var wrong int
	for _, c := range all {
		w := allowing(c.Argv[0], "make", "npm", "ls") // and what nice, time and xargs start there
		w.files = map[string]string{"/work/gradlew": "", "/work/a": ""}
		d := decide(t, w, terminal(c.Argv...))
		if (d.Effect == policy.Allow) == (c.Expect == "allow") {
			continue
		}
		t.Logf("%s %q: want %s, got %s", c.ID, c.Argv, c.Expect, answer(d))
		if wrong++; c.Expect != "allow" || wrong*100 > len(all) {
			t.Fail()
		}
	}
	t.Logf("%d of %d wrong", wrong, len(all))
}

// TestEveryKnownWayToStartProgramsIsToldOrNamed: ways in which programs execute
// others, from GTFOBins and measured. Those that arguments do not show are
// listed here: the program runs what the workspace or its input contains, or is
// an interpreter.
func TestEveryKnownWayToStartProgramsIsToldOrNamed(t *testing.T) {
	untold := map[string]string{
		"git --git-dir=/work/evil/.git --work-tree=/work/evil status": "a repository of the workspace has a configuration of its own",
		"npm install":                                      "scripts of the workspace",
		"npm test --prefix /work/pkg":                      "scripts of the workspace",
		"make -C /work/d":                                  "rules of the workspace",
		"go run /work/m.go":                                "a program of the workspace",
		"python3 -X importtime /work":                      "an interpreter",
		"pytest-3 -q -p evil":                              "an interpreter",
		"node --require /work/x.js -p 1":                   "an interpreter",
		"php -d auto_prepend_file=/work/x.php /work/y.php": "an interpreter",
		"bash -c /tmp/evil":                                "an interpreter",
		"bash /tmp/evil":                                   "an interpreter",
		"sh -c /tmp/evil":                                  "an interpreter",
		"ed -s":                                            "its input",
		"rg -z x /work/f.gz":                               "it takes PATH, which callers cannot set",
		"man /work/x.1":                                    "it takes MANPAGER, which callers cannot set",
		"docker run --rm -v /:/h alpine chroot /h sh":      "what runs in a container",
		`lua5.4 -e 'os.execute("/tmp/evil")'`:              "an interpreter",
		`node -p 'require("child_process").execFileSync("/tmp/evil")'`:                                                "an interpreter",
		`node --import 'data:text/javascript,import{execFileSync}from"child_process";execFileSync("/tmp/evil")' -p 1`: "an interpreter",
	}
	type form struct {
		Bin, Note string
		Argv      []string
	}
	for _, c := range lines[form](t, "gtfo-exec.jsonl") {
		var words []string
		for _, arg := range c.Argv {
			words = append(words, strings.NewReplacer("{P}", "/tmp/evil", "{W}", "/work", "{PORT}", "80", "{{", "{", "}}", "}").Replace(arg))
		}
		w := allowing(c.Bin)
		w.files = map[string]string{"/tmp/evil": ""}
		d := decide(t, w, terminal(words...))
		line := cmdline.Quote(words)
		if _, named := untold[line]; (d.Effect == policy.Allow) != named {
			t.Errorf("%s (%s): %s", line, c.Note, answer(d))
		}
		delete(untold, line)
	}
	for line := range untold {
		t.Errorf("%s is named, but not in the corpus", line)
	}
}
