package mcpserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The library refuses some requests with a status and a line of plain text, in which
// clients find no code. Such a text is sent as an error of the protocol instead.

// WriteHeader keeps the status of a refusal back until its text is there.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
	case status >= http.StatusBadRequest && strings.HasPrefix(s.ResponseWriter.Header().Get("Content-Type"), "text/plain"):
		s.refused = status
	default:
		s.ResponseWriter.WriteHeader(status)
	}
}

// refuse sends what the library has refused a request with. The caller holds the lock.
func (s *stream) refuse(text []byte) (int, error) {
	status, code, message := s.refusal(string(text))
	s.refused = 0
	s.patient(0)
	s.ResponseWriter.Header().Set("Content-Type", "application/json")
	s.ResponseWriter.WriteHeader(status)
	if _, err := s.ResponseWriter.Write(failureOf(s.asked, code, message)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// refusal returns the status and the error for a refusal of the library. What is wrong
// with the method or the params of a request is the answer to it, as over standard
// input and output, where the protocol does not ask for another status: many clients
// take one for the end of the connection.
func (s *stream) refusal(text string) (status, code int, message string) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "invalid request: ")
	method, unknown := unhandled(text)
	status, code = s.refused, jsonrpc.CodeInvalidRequest
	switch {
	case unknown:
		code, message = jsonrpc.CodeMethodNotFound, "method not found: "+method
	case strings.HasPrefix(text, "missing required "):
		code, message = jsonrpc.CodeInvalidParams, missingParams
	case status == http.StatusNotFound:
		code, message = codeSession, text
	default:
		message = "invalid request: " + text
	}
	if s.asked != nil && !s.modern && (code == jsonrpc.CodeMethodNotFound || code == jsonrpc.CodeInvalidParams) {
		status = http.StatusOK
	}
	return status, code, message
}

// revisions are those of the protocol that this server speaks, the newest first.
var revisions = []string{firstStateless, lastStateful, noBatches, "2025-03-26", "2024-11-05"}

// speaks refuses a request for a revision that this server does not speak, with those
// that it does. False means that the request has been answered.
func (*HTTPHandler) speaks(w http.ResponseWriter, r *http.Request, id json.RawMessage) bool {
	version := r.Header.Get(versionHeader)
	if version == "" || slices.Contains(revisions, version) {
		return true
	}
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{
			"code": mcp.CodeUnsupportedProtocolVersion, "message": "unsupported protocol version",
			"data": mcp.UnsupportedProtocolVersionData{Supported: revisions, Requested: version},
		},
	})
	if err != nil {
		data = failure(mcp.CodeUnsupportedProtocolVersion, "unsupported protocol version")
	}
	rejectWith(w, http.StatusBadRequest, data)
	return false
}
