package console

import (
	"cmp"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tipstaff"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/inspect/explain"
	"tipstaff/internal/policy/language"
)

func (s *Server) routesPolicy(mux *http.ServeMux) {
	mux.Handle("GET /policy", s.page(s.policyPage))
}

// decidedWithin is how far back decisions are counted, and decidedFresh how old
// the counts may be.
const (
	decidedWithin = 30 * 24 * time.Hour
	decidedFresh  = 30 * time.Second
)

// policyAsked is what the form of the page has.
type policyAsked struct {
	Agent, Task, Client, Principal string
	Family                         tipstaff.Family
	Line                           string
	Script                         bool
}

// policyView is what the page Policy shows.
type policyView struct {
	Asked  policyAsked
	Fault  string // the policy cannot be read
	List   *explain.List
	Groups []ruleGroup
	// Decision or Script explains what the box has; both are nil without it.
	Decision *explain.Decision
	Script   *explain.Script

	Counted  bool
	Counting bool
	Made     time.Time
	Elsewise int64 // decisions by other policies or settings
	Decided  int64 // decisions by this one
	Source   sourceView
	Machines []machinePolicy // what is known of other machines of the fleet
	NoFile   bool
}

// ruleGroup are the rules of one program or profile.
type ruleGroup struct {
	Name, Note  string
	Missing     string
	Own, Preset []ruleRow
}

// ruleRow is what stands under one name in one line of the file, and so decides
// under one name in the trail.
type ruleRow struct {
	Effect, Mark string
	explain.Rule
	Patterns []string
	Where    string
	N        int64
	Last     time.Time
	Other    int64 // by the same rule at the same place of another policy or settings
}

func policyAskedOf(q url.Values) policyAsked {
	a := policyAsked{
		Agent: q.Get("agent"), Task: q.Get("task"), Client: q.Get("client"), Principal: cmp.Or(q.Get("principal"), "local"),
		Family: tipstaff.Execute, Line: q.Get("line"), Script: q.Get("as") == "script",
	}
	if q.Get("family") == string(tipstaff.Terminal) {
		a.Family = tipstaff.Terminal
	}
	return a
}

func (s *Server) policyPage(w http.ResponseWriter, r *http.Request) error {
	v := policyView{Asked: policyAskedOf(r.URL.Query())}
	if err := s.explainPolicy(&v); err != nil {
		v.Fault = err.Error()
	}
	return s.show(w, r, view{Page: "policy", Title: "Policy", Here: "/policy", Styles: []string{"study.css"}, Data: &v})
}

func (s *Server) explainPolicy(v *policyView) error {
	if s.opts.Insight == nil {
		return errNoInsight
	}
	x, err := s.opts.Insight.Explainer()
	if err != nil {
		return err
	}
	a := &v.Asked
	v.List = x.List(a.Family, language.Who{Agent: a.Agent, Task: a.Task, Client: a.Client, Principal: a.Principal})
	v.NoFile = v.List.Policy.File == ""
	s.trails.refresh(s.ending, &s.study.work)
	v.Source = s.trails.view()
	got := s.study.decided.look(s.ending, &s.study.work, struct{}{}, decidedFresh, s.countDecided)
	if got.Err != nil {
		return s.trails.unreadable(got.Err)
	}
	v.Counted, v.Counting, v.Made = got.Value != nil, got.Making, got.Made
	digest := digestOf(x, a.Family)
	if got.Value != nil {
		v.group(&got.Value.all, digest)
		v.machines(got.Value, digest)
	} else {
		v.group(nil, digest)
	}
	if strings.TrimSpace(a.Line) == "" {
		return nil
	}
	req := tipstaff.Request{
		Family: a.Family,
		Origin: tipstaff.Origin{Front: "cli", Agent: a.Agent, Task: a.Task, Client: a.Client, Principal: a.Principal},
	}
	if a.Script {
		req.Script = a.Line
		v.Script, _ = x.Script(req)
	} else {
		req.Line = a.Line
		v.Decision, _ = x.Decide(req)
	}
	return nil
}

// digestOf returns what records call the policy of a family of tools.
func digestOf(x *explain.Explainer, family tipstaff.Family) string {
	d := x.Policy.Decide(tipstaff.Request{Family: family, Argv: []string{"true"}}, x.World)
	defer d.Close()
	if g, ok := d.Grant(); ok {
		defer g.Close()
	}
	return d.Digest
}

// group orders the rules by profile and program, with what the trail says of
// each. digest is of the policy that is shown.
func (v *policyView) group(d *query.DecidedBy, digest string) {
	counts := map[place]ruleCount{}
	if d != nil {
		for key, n := range d.Rules {
			at := place{strings.TrimPrefix(key.Rule, "policy/"), key.At}
			c := counts[at]
			if key.PolicySHA256 == digest {
				c.n, c.last = c.n+n.N, latest(c.last, n.Last)
				v.Decided += n.N
			} else {
				c.other += n.N
				v.Elsewise += n.N
			}
			counts[at] = c
		}
	}
	for _, n := range v.List.Profiles {
		g := ruleGroup{Name: n.Name, Note: "profile at " + n.At}
		g.add(v, counts, "only", n.Only)
		g.add(v, counts, "ask", n.Ask)
		g.add(v, counts, "deny", n.Deny)
		v.Groups = append(v.Groups, g)
	}
	for _, p := range v.List.Programs {
		g := ruleGroup{Name: p.Program, Missing: p.Missing}
		if p.Program == "*" {
			g.Name = "every other program"
		}
		if p.Paths != "" {
			g.Note = "paths " + p.Paths
		}
		g.add(v, counts, "deny", p.Deny)
		g.add(v, counts, "ask", p.Ask)
		g.add(v, counts, "allow", p.Allow)
		v.Groups = append(v.Groups, g)
	}
}

// where shortens the place of a rule in the policy's own directory, which the
// page names at its top.
func (v *policyView) where(at string) string {
	if dir := filepath.Dir(v.List.Policy.File); dir != "." {
		return strings.TrimPrefix(at, dir+string(filepath.Separator))
	}
	return at
}

type place struct{ rule, at string }

type ruleCount struct {
	n, other int64
	last     time.Time
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (g *ruleGroup) add(v *policyView, counts map[place]ruleCount, effect string, list []explain.Rule) {
	marks := map[string]string{"allow": "good", "only": "good", "ask": "waits", "deny": "failed"}
	for _, r := range list {
		to := &g.Own
		if strings.HasPrefix(r.At, "preset:") {
			to = &g.Preset
		}
		if n := len(*to); n > 0 && (*to)[n-1].same(effect, &r) {
			(*to)[n-1].Patterns = append((*to)[n-1].Patterns, r.Pattern)
			continue
		}
		c := counts[place{strings.TrimPrefix(r.Rule, "policy/"), r.At}]
		*to = append(*to, ruleRow{
			Effect: effect, Mark: marks[effect], Rule: r, Patterns: []string{r.Pattern}, Where: v.where(r.At),
			N: c.n, Last: c.last, Other: c.other,
		})
	}
}

// same reports whether r belongs to the row.
func (row *ruleRow) same(effect string, r *explain.Rule) bool {
	return row.Effect == effect && row.Rule.Rule == r.Rule && row.At == r.At && row.Why == r.Why && slices.Equal(row.Lends, r.Lends)
}
