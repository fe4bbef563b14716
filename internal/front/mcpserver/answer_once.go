package mcpserver

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// comparing names the clients that show a model both the text of an answer and its
// structured content unless the text is, to the byte, what JSON.stringify makes of
// the structured content: Copilot CLI 1.0.102. Every other client that was measured
// shows one of the two (docs/clients.md), and gets what the protocol says, as does a
// client that is not known. Neither of the two is ever left out: what a client shows
// changes from version to version.
var comparing = []string{"copilot-cli"}

// answerOnce sees to it that the client, "name/version", shows its model an answer once.
func answerOnce(client string, res *mcp.CallToolResult) *mcp.CallToolResult {
	name, _, _ := strings.Cut(client, "/")
	if res == nil || !slices.Contains(comparing, name) {
		return res
	}
	if body, ok := res.StructuredContent.(json.RawMessage); ok {
		res.Content = []mcp.Content{&mcp.TextContent{Text: stringified(string(body))}}
	}
	return res
}

// stringified returns a JSON document as JSON.stringify writes it: the characters
// that escapeInvisible and the encoder have escaped stand for themselves. Control
// characters stay escaped, U+007F to U+009F too, which JSON.stringify does not
// escape: the client's terminal would obey them.
func stringified(doc string) string {
	var b strings.Builder
	b.Grow(len(doc))
	for {
		i := strings.IndexByte(doc, '\\')
		if i < 0 {
			b.WriteString(doc)
			return b.String()
		}
		b.WriteString(doc[:i])
		doc = doc[i:]
		r, n := escaped(doc)
		if n == 0 || unicode.IsControl(r) {
			n = max(n, 2)
			b.WriteString(doc[:n])
		} else {
			b.WriteRune(r)
		}
		doc = doc[n:]
	}
}

// escaped returns the character of the \u escape, or of the pair of them, with which
// s begins, and how many bytes that takes: none if s begins with another escape.
func escaped(s string) (r rune, n int) {
	if r = unit(s); r < 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	// The encoder writes no half of a pair: it has made U+FFFD of one.
	return utf16.DecodeRune(r, unit(s[6:])), 12
}

// unit returns the unit of UTF-16 that s begins with as an escape; -1 if with none.
func unit(s string) rune {
	if len(s) < 6 || !strings.HasPrefix(s, `\u`) {
		return -1
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(v)
}
