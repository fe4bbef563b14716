package mcpfront

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

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

// wholeID reports whether the id of a call is a string or a whole number: the
// library would round 1.5 and answer with an id that the client never used.
func wholeID(data []byte) bool {
	if !fractional(data) {
		return true
	}
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(data, &m) != nil || len(m.ID) == 0 {
		return false
	}
	if m.ID[0] == '"' {
		return true
	}
	var n int64
	return json.Unmarshal(m.ID, &n) == nil
}

// fractional reports whether a member called id could be a number that is not
// whole. In nearly all messages it saves reading them twice.
func fractional(data []byte) bool {
	for {
		_, rest, found := bytes.Cut(data, []byte(`"id"`))
		if !found {
			return false
		}
		value := bytes.TrimLeft(rest, ": \t\r\n")
		if end := bytes.IndexAny(value, ",} \t\r\n"); end >= 0 {
			value = value[:end]
		}
		if len(value) > 0 && value[0] != '"' && bytes.ContainsAny(value, ".eE") {
			return true
		}
		data = rest
	}
}

// negotiated reads the protocol version from the answer to initialize.
func negotiated(result json.RawMessage) string {
	var r struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(result, &r)
	return r.ProtocolVersion
}

// withCode adds a code to a failure that the library sends without one: such a
// message was refused before a handler saw it, for which JSON-RPC has a code.
func withCode(resp *jsonrpc.Response) *jsonrpc.Response {
	if resp.Error == nil {
		return resp
	}
	var coded *jsonrpc.Error
	if errors.As(resp.Error, &coded) && coded.Code != 0 {
		if coded.Code == jsonrpc.CodeInvalidParams && strings.Contains(resp.Error.Error(), "unmarshaling") {
			// The library's text names its own types, which does not help
			// clients.
			return &jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{Code: coded.Code, Message: "invalid params: they do not have the form that this method takes"}}
		}
		return resp
	}
	return &jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: resp.Error.Error()}}
}
