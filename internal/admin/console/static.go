package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"sync"

	"tipstaff/internal/policy/approval"
)

//go:embed static
var staticFiles embed.FS

// answering is the name of [approval.PageScript].
const answering = "answering.js"

// staticVersion is a part of the addresses of all static files, which changes with any
// of them. So a browser may keep them, and modules find each other in its directory.
var staticVersion = sync.OnceValue(func() string {
	sum := sha256.New()
	_ = fs.WalkDir(staticFiles, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(staticFiles, name)
		_, _ = sum.Write([]byte(name + "\x00"))
		_, _ = sum.Write(data)
		return err
	})
	_, _ = sum.Write([]byte(approval.PageScript))
	return hex.EncodeToString(sum.Sum(nil)[:6])
})

// static answers with a file of the console's own. They hold nothing of this
// host, so browsers that are not in may have them, and see a refusal in style.
func (*Server) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	data, err := fs.ReadFile(staticFiles, "static/"+name)
	if name == answering {
		data, err = []byte(approval.PageScript+"\nexport { Steady };\n"), nil
	}
	if err != nil || r.PathValue("version") != staticVersion() {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "private, max-age=604800, immutable")
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

func assetPath(name string) string { return "/static/" + staticVersion() + "/" + name }
