package mcpfront

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"tipstaff"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recoverPanics turns a panic of one call into an error of that call. The
// library would let it end the server, and every other command with it.
func (s *Server) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.opts.Log.Error("panic in a call", "method", method, "panic", p, "stack", string(debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error: tipstaff failed to carry out this call"}
			}
		}()
		return next(ctx, method, req)
	}
}

// lastStateful is the newest protocol version that begins with initialize.
const lastStateful = "2025-11-25"

// clampVersion answers an initialize that asks for a version without
// initialize as the newest one that has it. Left alone, the session would be
// taken for one of the stateless protocol, which it is not.
func clampVersion(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil && p.ProtocolVersion > lastStateful {
			p.ProtocolVersion = lastStateful
		}
		return next(ctx, method, req)
	}
}

// instruct tells clients what they can rely on as it is when they connect: the
// policy may have changed since the server started, and says something else to
// each caller.
func (s *Server) instruct(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if s.opts.Instructions == nil || err != nil {
			return res, err
		}
		switch r := res.(type) {
		case *mcp.InitializeResult:
			r.Instructions = s.opts.Instructions(newcomer(ctx, req))
		case *mcp.DiscoverResult:
			r.Instructions = s.opts.Instructions(newcomer(ctx, req))
		}
		return res, err
	}
}

// newcomer is who connects, as far as that is known before the first call.
func newcomer(ctx context.Context, req mcp.Request) tipstaff.Origin {
	in := inboundOf(ctx)
	o := tipstaff.Origin{Front: in.peer.front, Principal: in.principal.Name}
	switch p := req.GetParams().(type) {
	case *mcp.InitializeParams:
		o.Client = clientName(p)
	default:
		if session, ok := req.GetSession().(*mcp.ServerSession); ok {
			o.Client = clientName(session.InitializeParams())
		}
	}
	return o
}

// settleArrivals lets later calls pass those that need no place in an order.
// A command of a session settles itself when it has its place.
func settleArrivals(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		p, ok := req.GetParams().(*mcp.CallToolParamsRaw)
		if !ok || p.Name != terminalExecuteName {
			inboundOf(ctx).settle()
		}
		return next(ctx, method, req)
	}
}

// codeErrors gives every failure of a handler a code: without one the library
// sends 0, which means nothing.
func codeErrors(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		var coded *jsonrpc.Error
		if err != nil && !isNotification(method) && (!errors.As(err, &coded) || coded.Code == 0) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		return res, err
	}
}

// onlyDeclared refuses the methods of what the server does not have, as the
// protocol asks of it. The library would answer them: with lists of nothing.
func (s *Server) onlyDeclared(next mcp.MethodHandler) mcp.MethodHandler {
	has := kinds(s.has)
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		kind, _, _ := strings.Cut(method, "/")
		if there, known := has[kind]; known && !there {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
		}
		return next(ctx, method, req)
	}
}
