package console

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"testing"
)

// TestThePlayerIsTheOneThatWasPublished: asciinema-player 3.18.0, of the npm
// package with the integrity
// sha512-5gpt2ipFcy4NKmgkv+c/QXnJ9zMicxqWROCOuJqgwwtiYKM8Qe9hnDOvfqke5bW6M2DW/seO3uQYkQ0xeUUVtw==,
// its files dist/bundle/asciinema-player.min.js, dist/bundle/asciinema-player.css and LICENSE.
func TestThePlayerIsTheOneThatWasPublished(t *testing.T) {
	for name, want := range map[string]string{
		"asciinema-player.min.js":  "752c9b528b664f5b16f27c68ba22fc7973d1d6063a1c3e4795a4c8015943acf6",
		"asciinema-player.css":     "981fe7bc6042048b2a373b6da297f747e324e90a8b6264e833e3a92cec22dfb9",
		"asciinema-player.LICENSE": "63422284ed65be54ab38d8a94e7518d27e222fbb26c9ae4cd984c63926e91c12",
	} {
		data, err := fs.ReadFile(staticFiles, "static/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is another file: %x", name, sum)
		}
	}
}
