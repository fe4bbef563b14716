package mcpfront

import (
	"context"
	"errors"
	"runtime/debug"

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

// settleArrivals lets later calls pass those that need no place in an order.
// A command of a session settles itself when it has its place.
func (s *Server) settleArrivals(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		p, ok := req.GetParams().(*mcp.CallToolParamsRaw)
		if !ok || p.Name != terminalExecuteName {
			s.arrivals.settle(arrivalOf(req.GetExtra()))
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
