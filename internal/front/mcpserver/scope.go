package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

// admit checks the caller's scopes, then the arguments.
func (t tool) admit(p authn.Principal, raw json.RawMessage) (arguments, error) {
	if err := t.permit(p); err != nil {
		return arguments{}, err
	}
	return parse(t.params, raw)
}

// permit checks that a principal may call the tool.
func (t tool) permit(p authn.Principal) error {
	if t.permits(p) {
		return nil
	}
	names := make([]string, len(t.scopes))
	for i, s := range t.scopes {
		names[i] = string(s)
	}
	need := strings.Join(names, " or ")
	return &tipstaff.Error{
		Code: tipstaff.ScopeMissing, Rule: "scope",
		Msg:     fmt.Sprintf("%s needs the scope %s, which your credentials do not have.", t.name, need),
		Hint:    "Use the tools that tools/list shows to you, or ask the operator for credentials with this scope.",
		Details: map[string]any{"tool": t.name, "scopes": names},
	}
}

func (t tool) permits(p authn.Principal) bool { return slices.ContainsFunc(t.scopes, p.May) }

// toolNamed finds a tool by its name.
func toolNamed(name string) (tool, bool) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return tool{}, false
	}
	return tools[i], true
}

// onlyPermitted removes the tools that the caller may not call from a list, and
// adds to the others what this caller may run.
func (s *Server) onlyPermitted(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil {
			return res, err
		}
		p := inboundOf(ctx).principal
		shown, said, lines := *list, map[string]string{}, map[string]bool{}
		shown.Tools = nil
		for _, m := range list.Tools {
			t, known := toolNamed(m.Name)
			if known && t.permits(p) {
				t, _ = t.offered(s.offers)
				m = t.declaration(said)
				s.sayAllowed(m, t, newcomer(ctx, req), lines)
			} else if known || s.opts.Extension == nil {
				continue
			}
			shown.Tools = append(shown.Tools, m)
		}
		return &shown, nil
	}
}

// sayAllowed appends what a caller may run to the description of a tool that runs
// commands, because many clients show these to the model but not the instructions.
// It says each line once.
func (s *Server) sayAllowed(m *mcp.Tool, t tool, who tipstaff.Origin, said map[string]bool) {
	if s.opts.Allowed == nil || !t.runs() {
		return
	}
	for line := range strings.SplitSeq(s.opts.Allowed(who, t.family), "\n") {
		of := string(t.family)
		if strings.HasPrefix(line, here) {
			of = ""
		}
		if !said[of+line] {
			m.Description, said[of+line] = m.Description+"\n"+line, true
		}
	}
}
