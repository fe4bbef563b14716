package decider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
)

// fixed is a decider that always gives the same answer, and notes that it was
// asked.
type fixed struct {
	finding policy.Finding
	asked   *[]string
}

func (f fixed) Judge(context.Context, policy.Case) policy.Finding {
	*f.asked = append(*f.asked, f.finding.At)
	return f.finding
}

// panelOf makes a decider for each word; "error" stands for one that could not
// be asked.
func panelOf(asked *[]string, words ...string) Strictest {
	var all Strictest
	for i, w := range words {
		f := policy.Finding{Rule: rule, At: fmt.Sprint(i), Msg: w + " of " + fmt.Sprint(i)}
		switch w {
		case "allow":
			f.Effect, f.Msg = policy.Allow, ""
		case "ask":
			f.Effect = policy.Ask
		case "deny":
			f.Code = tipstaff.CommandNotAllowed
		case "error":
			f = unasked(fmt.Errorf("connection refused"))
			f.At = fmt.Sprint(i)
		}
		all = append(all, fixed{f, asked})
	}
	return all
}

// TestTheStrictestOfSeveralDecidersCounts, for all panels of up to four: the
// effect is the strictest one, from the first decider that gives it, and none
// is asked after one that denies.
func TestTheStrictestOfSeveralDecidersCounts(t *testing.T) {
	words := []string{"allow", "ask", "deny", "error"}
	panels := [][]string{{}}
	for begin, n := 0, 0; n < 4; n++ {
		end := len(panels)
		for _, p := range panels[begin:end] {
			for _, w := range words {
				panels = append(panels, append(slices.Clone(p), w))
			}
		}
		begin = end
	}
	for _, p := range panels[1:] {
		var asked []string
		f := panelOf(&asked, p...).Judge(t.Context(), push())
		refuses := slices.IndexFunc(p, func(w string) bool { return w == "deny" || w == "error" })
		asks := slices.Index(p, "ask")
		want, at, last := policy.Allow, 0, len(p)-1
		switch {
		case refuses >= 0:
			want, at, last = policy.Deny, refuses, refuses
		case asks >= 0:
			want, at = policy.Ask, asks
		}
		if f.Effect != want || f.At != fmt.Sprint(at) || len(asked) != last+1 {
			t.Errorf("%v: %+v, asked %v", p, f, asked)
		}
		if refuses >= 0 && (f.Code == tipstaff.PolicyUnavailable) != (p[refuses] == "error") {
			t.Errorf("%v: the code is %q", p, f.Code)
		}
		if want != policy.Ask {
			continue
		}
		for i, w := range p {
			if strings.Contains(f.Msg, "ask of "+fmt.Sprint(i)) != (w == "ask") {
				t.Errorf("%v: a person hears %q", p, f.Msg)
			}
		}
	}
	if len(panels) != 1+4+16+64+256 {
		t.Errorf("%d panels", len(panels))
	}
}

func TestNoDeciderDenies(t *testing.T) {
	for _, none := range []Strictest{nil, {}} {
		if f := none.Judge(t.Context(), push()); f.Effect != policy.Deny || f.Code != tipstaff.PolicyUnavailable || f.Err == nil || f.Hint == "" {
			t.Errorf("%+v", f)
		}
	}
}

// TestOneOfSeveralThatCannotBeAskedRefuses: real ones, in each order.
func TestOneOfSeveralThatCannotBeAskedRefuses(t *testing.T) {
	alive, _ := newStub(t, "unix", says(`{"result": true}`)).client(patience)
	gone := newStub(t, "unix", says(`{"result": true}`))
	dead, _ := gone.client(patience)
	if f := (Strictest{alive, dead}).Judge(t.Context(), push()); f.Effect != policy.Allow {
		t.Fatalf("both answer: %+v", f)
	}
	gone.server.Close()
	for _, s := range []Strictest{{alive, dead}, {dead, alive}, {alive, alive, dead}} {
		if f := s.Judge(t.Context(), push()); f.Effect != policy.Deny || f.Code != tipstaff.PolicyUnavailable || f.Err == nil {
			t.Errorf("%+v", f)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := (Strictest{alive, alive}).Judge(ctx, push()); f.Effect != policy.Deny {
		t.Errorf("behind the end: %+v", f)
	}
}
