package mcpserver

import (
	"encoding/json"
	"errors"
	"strings"

	"tipstaff/internal/strictjson"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// failure returns an error response without an id.
func failure(code int, text string) []byte { return failureOf(nil, code, text) }

// failureOf returns an error response to the message with an id.
func failureOf(id json.RawMessage, code int, text string) []byte {
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	if err != nil {
		return nil // cannot happen: a map of strings and numbers can always be written
	}
	return data
}

func isNotification(method string) bool { return strings.HasPrefix(method, "notifications/") }

// negotiated reads the protocol version from the answer to initialize.
func negotiated(result json.RawMessage) string {
	var r struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = strictjson.Unmarshal(result, &r)
	return r.ProtocolVersion
}

// unhandled returns the method, quoted, that the library says it does not handle.
func unhandled(text string) (method string, is bool) {
	method, is = strings.CutPrefix(text, "JSON RPC not handled: ")
	return strings.TrimSuffix(method, " unsupported"), is
}

// What is said of params that the library cannot read. Its own texts name its types, which
// does not help clients.
const (
	malformedParams = "invalid params: they do not have the form that this method takes"
	missingParams   = "invalid params: this method needs params"
)

// withCode adds a code to a failure that the library sends without one: such a
// message was refused before a handler saw it, for which JSON-RPC has a code.
func withCode(resp *jsonrpc.Response) *jsonrpc.Response {
	if resp.Error == nil {
		return resp
	}
	var coded *jsonrpc.Error
	if errors.As(resp.Error, &coded) && coded.Code != 0 {
		if method, is := unhandled(coded.Message); is {
			return &jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{Code: coded.Code, Message: "method not found: " + method}}
		}
		if coded.Code == jsonrpc.CodeInvalidParams && strings.Contains(resp.Error.Error(), "unmarshaling") {
			return &jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{Code: coded.Code, Message: malformedParams}}
		}
		return resp
	}
	code, text := int64(jsonrpc.CodeInvalidRequest), resp.Error.Error()
	switch {
	case strings.Contains(text, "unmarshaling"):
		code, text = jsonrpc.CodeInvalidParams, malformedParams
	case strings.Contains(text, `missing required "params"`):
		code, text = jsonrpc.CodeInvalidParams, missingParams
	}
	return &jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{Code: code, Message: text}}
}
