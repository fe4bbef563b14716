package policy

import (
	"testing"
	"time"

	"tipstaff"
)

// asks leaves everything to people.
type asks struct{}

func (asks) Judge(*tipstaff.Request, World, *Draft) []Finding {
	return []Finding{{Rule: "test", Effect: Ask, Msg: "why"}}
}

// counted is a directory that counts how often it is closed.
type counted struct {
	path   string
	closed *int
}

func (d counted) Path() string { return d.path }
func (counted) Fd() uintptr    { return 0 }
func (d counted) Close() error { *d.closed++; return nil }

// spot is a world of one program and one directory, which tests may change.
type spot struct {
	ino    uint64
	file   string
	dir    string
	names  string
	closed *int
}

func (w spot) Lookup(string) (Program, error) {
	return Program{Path: w.file, File: FileID{1, w.ino}}, nil
}
func (w spot) File(string, Directory) (Program, error) { return w.Lookup("") }
func (w spot) Directory(string) (Directory, error)     { return counted{w.dir, w.closed}, nil }
func (spot) Roots() ([]string, error)                  { return nil, nil }
func (w spot) Allowlist(tipstaff.Family) Allowlist {
	return ParseAllowlist(w.names, "ALLOWED_COMMANDS")
}
func usual(closed *int) spot { return spot{7, "/bin/git", "/ws", "git", closed} }
func asking(timeout time.Duration, more ...Rule) *Policy {
	l := FamilyLimits{DefaultTimeout: timeout, OutputBytes: 1000}
	return New(Settings{
		Limits:      map[tipstaff.Family]FamilyLimits{tipstaff.Execute: l, tipstaff.Terminal: l},
		Environment: NewEnvironment(nil, "/bin"), More: more,
	})
}

func granted(q Question) Approval {
	return NewApproval(q, Verdict{Answer: Answer{Choice: Once, By: "ann"}, Handle: "apr_1", Outcome: Granted}, time.Unix(100, 0))
}

func TestAnApprovalIsForExactlyWhatWasAsked(t *testing.T) {
	base := func() tipstaff.Request {
		return tipstaff.Request{
			Family: tipstaff.Execute, Argv: []string{"git", "push"}, Stdin: []byte("in"), Env: []string{"A=b"}, Session: "s",
			Origin: tipstaff.Origin{Front: "stdio", Principal: "me", Agent: "a", Task: "t", Call: "1"},
		}
	}
	n := 0
	first := asking(time.Second, asks{}).Decide(base(), usual(&n))
	q, ok := first.Question()
	if !ok || first.Effect != Ask {
		t.Fatalf("%+v", first)
	}
	request := func(f func(*tipstaff.Request)) tipstaff.Request { r := base(); f(&r); return r }
	same := func(*tipstaff.Request) {}
	for name, c := range map[string]struct {
		change  func(*tipstaff.Request)
		world   func(*spot)
		timeout time.Duration
		ok      bool
	}{
		"the same":                     {change: same, ok: true},
		"another call":                 {change: func(r *tipstaff.Request) { r.Origin.Call, r.ID = "2", "cmd_2" }, ok: true},
		"another trace":                {change: func(r *tipstaff.Request) { r.Fixed = []string{"TRACEPARENT=00-1"} }, ok: true},
		"a trace that the caller sets": {change: func(r *tipstaff.Request) { r.Env = []string{"A=b", "TRACEPARENT=x"} }},
		"an argument more":             {change: func(r *tipstaff.Request) { r.Argv = []string{"git", "push", ""} }},
		"words joined":                 {change: func(r *tipstaff.Request) { r.Argv = []string{"git push"} }},
		"another input":                {change: func(r *tipstaff.Request) { r.Stdin = []byte("In") }},
		"no input":                     {change: func(r *tipstaff.Request) { r.Stdin = nil }},
		"an empty input":               {change: func(r *tipstaff.Request) { r.Stdin = []byte{} }},
		"another variable":             {change: func(r *tipstaff.Request) { r.Env = []string{"A=c"} }},
		"a variable of the server":     {change: func(r *tipstaff.Request) { r.Fixed = []string{"CAWS_TASK_ID=u"} }},
		"another time limit":           {change: func(r *tipstaff.Request) { r.Timeout = 2 * time.Second }},
		"in the background":            {change: func(r *tipstaff.Request) { r.Background = true }},
		"in the background, as long":   {change: func(r *tipstaff.Request) { r.Background, r.Timeout = true, time.Second }},
		"on a terminal":                {change: func(r *tipstaff.Request) { r.Terminal = &tipstaff.TerminalSize{} }},
		"another principal":            {change: func(r *tipstaff.Request) { r.Origin.Principal = "you" }},
		"another session":              {change: func(r *tipstaff.Request) { r.Session = "s2" }},
		"another agent":                {change: func(r *tipstaff.Request) { r.Origin.Agent = "b" }},
		"another family":               {change: func(r *tipstaff.Request) { r.Family = tipstaff.Terminal }},
		"another file of that name":    {change: same, world: func(w *spot) { w.ino = 8 }},
		"another name of the file":     {change: same, world: func(w *spot) { w.file = "/usr/bin/git" }},
		"another directory":            {change: same, world: func(w *spot) { w.dir = "/ws2" }},
		"other settings":               {change: same, timeout: time.Minute},
		"another allowlist":            {change: same, world: func(w *spot) { w.names = "git,ls" }},
	} {
		t.Run(name, func(t *testing.T) {
			closed := 0
			w := usual(&closed)
			if c.world != nil {
				c.world(&w)
			}
			if c.timeout == 0 {
				c.timeout = time.Second
			}
			d := asking(c.timeout, asks{}).Decide(request(c.change), w)
			g, ok := d.Approved(granted(q), time.Unix(99, 0))
			if ok != c.ok || (g != nil) != c.ok {
				t.Errorf("approved: %t, %v", ok, d.Findings)
			}
			if c.ok {
				if d.Verdict().By != "ann" {
					t.Errorf("%+v", d.Verdict())
				}
				if _, again := d.Approved(granted(q), time.Unix(99, 0)); again {
					t.Error("it was given twice")
				}
				g.Close()
			}
			d.Close()
			d.Close()
			if closed != 1 {
				t.Errorf("the directory was closed %d times", closed)
			}
		})
	}
}

// alsoAsks asks as well, for another reason.
type alsoAsks struct{}

func (alsoAsks) Judge(*tipstaff.Request, World, *Draft) []Finding {
	return []Finding{{Rule: "other", Effect: Ask, Msg: "it needs a person", Hint: "Use a branch."}, {Rule: "more", Effect: Ask, Msg: "why"}}
}

func TestAPersonHearsOfEveryRuleThatAsks(t *testing.T) {
	n := 0
	d := asking(time.Second, asks{}, alsoAsks{}).Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"git"}}, usual(&n))
	defer d.Close()
	q, _ := d.Question()
	if want := "why. it needs a person. Use a branch."; q.Why != want || q.Rule != "test" {
		t.Errorf("%s says %q, want %q", q.Rule, q.Why, want)
	}
}

func TestWhatIsNoApprovalUnlocksNothing(t *testing.T) {
	n := 0
	req := tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"git", "push"}}
	d := asking(time.Second, asks{}).Decide(req, usual(&n))
	defer d.Close()
	if _, ok := d.Grant(); ok {
		t.Error("a decision to ask grants")
	}
	if e := tipstaff.AsError(d.Refusal()); e.Code != tipstaff.ApprovalRequired {
		t.Errorf("%v", e)
	}
	q, _ := d.Question()
	word := granted(q).Verdict()
	refused, open := word, word
	refused.Choice, open.Outcome = Refuse, Pending
	for name, c := range map[string]struct {
		a   Approval
		now int64
	}{
		"the zero approval": {Approval{}, 0},
		"a refusal":         {NewApproval(q, refused, time.Unix(100, 0)), 99},
		"an open question":  {NewApproval(q, open, time.Unix(100, 0)), 99},
		"at its end":        {granted(q), 100},
		"without a digest":  {NewApproval(Question{}, word, time.Unix(100, 0)), 99},
	} {
		if _, ok := d.Approved(c.a, time.Unix(c.now, 0)); ok {
			t.Errorf("%s unlocks", name)
		}
	}
	denied := asking(time.Second, asks{}).Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"rm"}}, usual(&n))
	if _, ok := denied.Approved(granted(q), time.Unix(99, 0)); ok || denied.Effect != Deny {
		t.Error("an approval unlocks what is denied")
	}
	if _, ok := denied.Question(); ok {
		t.Error("what is denied is asked about")
	}
	allowed := asking(time.Second).Decide(req, usual(&n))
	if g, ok := allowed.Grant(); !ok {
		t.Error("without a rule it is not allowed")
	} else {
		g.Close()
	}
}
