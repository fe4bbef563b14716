package console

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

//go:embed static
var staticFiles embed.FS

// static answers with a file of the console's own. They hold nothing of this
// host, so browsers that are not in may have them, and see a refusal in style.
func (*Server) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	data, err := fs.ReadFile(staticFiles, "static/"+name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", typeOf(name))
	_, _ = w.Write(data)
}

// typeOf returns the type of a file by its name, without asking the machine.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".wasm":
		return "application/wasm"
	}
	return mime.FormatMediaType("text/plain", map[string]string{"charset": "utf-8"})
}

func assetPath(name string) string { return "/static/" + name }
