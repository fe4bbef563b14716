package authn

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// wellKnown is the path of a resource's metadata in RFC 9728.
const wellKnown = "/.well-known/oauth-protected-resource"

// Metadata tells clients which issuer to ask for a token: the
// protected-resource metadata of RFC 9728. It is an [http.Handler] that needs
// no credential, holds no secrets, and may be read by scripts of any origin.
type Metadata struct {
	resource *url.URL
	document []byte
}

func newMetadata(i Issuer, scopes []string) (*Metadata, error) {
	u, err := webAddress(i.Audience)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{i.Audience, []string{i.URL}, scopes, []string{"header"}, "tipstaff"})
	return &Metadata{resource: u, document: document}, err
}

// URL returns the address of the document as clients see it (RFC 9728, section
// 3.1: the well-known path goes between the host and the path of the resource).
func (m *Metadata) URL() string {
	path := m.resource.EscapedPath()
	if path == "/" {
		path = ""
	}
	address := m.resource.Scheme + "://" + m.resource.Host + wellKnown + path
	if m.resource.RawQuery != "" {
		address += "?" + m.resource.RawQuery
	}
	return address
}

// Paths returns where the document has to be served: at the root, for the
// endpoint /mcp, and for the path under which clients see this server, which a
// proxy may have changed.
func (m *Metadata) Paths() []string {
	paths := []string{wellKnown, wellKnown + "/mcp"}
	if path := strings.TrimSuffix(m.resource.Path, "/"); path != "" && path != "/mcp" {
		paths = append(paths, wellKnown+path)
	}
	return paths
}

func (m *Metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "max-age=300")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodGet {
		_, _ = w.Write(m.document)
	}
}
