package mcpserver

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tipstaff/internal/strictjson"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MCP Apps (SEP-1865, 2026-01-26): a client that declares the extension shows its
// user a page beside a call. Ours shows the command of the call as it runs, and
// stops it. The page speaks with its host alone, which calls tools for it that only
// pages may call: watch_command, stop_watched_command and answer_watched_question. It
// answers a question of the policy only where the rule says approver: app
// (app_questions.go). A client that does not declare the extension is told of
// none of this; the text of an answer says all without the page.

const (
	appsName = "io.modelcontextprotocol/ui"
	appsMIME = "text/html;profile=mcp-app"
	// commandPage is the page that shows the command of a call.
	commandPage = "ui://tipstaff/command"
	// commandIDMeta is where an answer tells the page which command was its call's.
	commandIDMeta = "tipstaff/commandId"
)

// shows reports whether this server can show commands as they run.
func (s *Server) shows() bool { return s.opts.Jobs != nil && s.opts.Outputs != nil }

// declaresApps reports whether a client says that it shows such pages.
func declaresApps(req mcp.Request) bool {
	if p, ok := req.GetParams().(*mcp.InitializeParams); ok {
		return p != nil && takesPages(p.Capabilities)
	}
	r, ok := req.(interface {
		ClientCapabilities() *mcp.ClientCapabilities
	})
	return ok && takesPages(r.ClientCapabilities())
}

func takesPages(c *mcp.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	settings, _ := c.Extensions[appsName].(map[string]any)
	types, _ := settings["mimeTypes"].([]any)
	return slices.Contains(types, any(appsMIME))
}

// addApps offers the page.
func (s *Server) addApps() {
	if !s.shows() {
		return
	}
	s.mcp.AddResource(&mcp.Resource{
		URI: commandPage, Name: "command", Title: "A command as it runs", MIMEType: appsMIME,
		Description: "Shows the command of a call: its output as it comes, its age, and a button that stops it.",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
			URI: commandPage, MIMEType: appsMIME, Text: commandPageText(),
			// The page loads nothing, connects to nothing, and frames nothing.
			Meta: mcp.Meta{"ui": map[string]any{"prefersBorder": true, "csp": map[string]any{
				"connectDomains": []string{}, "resourceDomains": []string{}, "frameDomains": []string{}, "baseUriDomains": []string{},
			}}},
		}}}, nil
	})
}

// onlyForApps hides what belongs to the extension from clients that do not declare
// it, and tells the others which tools have a page, and who may call what.
func (s *Server) onlyForApps(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		declared := s.shows() && declaresApps(req)
		if !declared {
			if err := hiddenFrom(req); err != nil {
				return nil, err
			}
		}
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		switch r := res.(type) {
		case *mcp.InitializeResult:
			if declared {
				r.Capabilities = withApps(r.Capabilities)
			}
		case *mcp.DiscoverResult:
			if declared {
				r.Capabilities = withApps(r.Capabilities)
			}
		case *mcp.ListToolsResult:
			shown := *r
			shown.Tools = toolsFor(r.Tools, declared)
			return &shown, nil
		case *mcp.ListResourcesResult:
			if !declared {
				shown := *r
				shown.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(one *mcp.Resource) bool { return one.URI == commandPage })
				return &shown, nil
			}
		}
		return res, nil
	}
}

// hiddenFrom is the error for a client without the extension that asks for a part
// of it: that of what never was.
func hiddenFrom(req mcp.Request) error {
	switch p := req.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		if t, known := toolNamed(p.Name); known && t.app {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", p.Name)} // as the library says it
		}
	case *mcp.ReadResourceParams:
		if p.URI == commandPage {
			return mcp.ResourceNotFoundError(p.URI)
		}
	}
	return nil
}

func withApps(has *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	if has == nil {
		return nil
	}
	more := *has
	more.Extensions = maps.Clone(has.Extensions)
	more.AddExtension(appsName, nil)
	return &more
}

// toolsFor returns the tools as a client is told of them. Of those that a client
// with pages has, a page may call only the two that are made for it.
func toolsFor(list []*mcp.Tool, declared bool) []*mcp.Tool {
	var shown []*mcp.Tool
	for _, m := range list {
		t, known := toolNamed(m.Name)
		switch {
		case !known:
			shown = append(shown, m)
			continue
		case !declared && t.app:
			continue
		case !declared:
			shown = append(shown, m)
			continue
		}
		ui := map[string]any{"visibility": []string{"model"}}
		if t.app {
			ui["visibility"] = []string{"app"}
		}
		if t.family != "" {
			ui["resourceUri"] = commandPage
		}
		said := *m // a copy, because the list is shared
		said.Meta = mcp.Meta{"ui": ui}
		shown = append(shown, &said)
	}
	return shown
}

//go:embed app/command.html
var commandHTML string

//go:embed app/command.css
var commandCSS string

//go:embed app/command.js
var commandJS string

// commandPageText is the page in one piece. Its own policy allows the one script
// and the one style that it has, so that no text of a command could become either,
// whatever a host allows.
var commandPageText = sync.OnceValue(func() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'", hash(commandJS), hash(commandCSS))
	return strings.NewReplacer("{{policy}}", policy, "{{style}}", commandCSS, "{{script}}", commandJS).Replace(commandHTML)
})

// canonical is a JSON value written in one way; nil for what is none.
func canonical(raw json.RawMessage) []byte {
	var v any
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if strictjson.Unmarshal(raw, &v) != nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}
