package decider

import (
	"strings"
	"testing"
	"time"
)

func TestAnAddressNamesAHostOrASocketAndADocument(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8181/v1/data/x/allow":   "http://127.0.0.1:8181/v1/data/x/allow",
		"http://localhost:8181":                   "http://localhost:8181" + DefaultDocument,
		"http://[::1]:8181/":                      "http://[::1]:8181" + DefaultDocument,
		"https://opa.example.com/v1/data/x?a=tok": "https://opa.example.com/v1/data/x",
		"unix:/run/opa.sock:/v1/data/x":           "unix:/run/opa.sock:/v1/data/x",
		"unix:/run/opa.sock":                      "unix:/run/opa.sock:" + DefaultDocument,
		"unix:///run/opa.sock":                    "unix:/run/opa.sock:" + DefaultDocument,
		"unix:/run/a:b.sock:/v1/data/x?pretty":    "unix:/run/a:b.sock:/v1/data/x",
	} {
		c, err := New(Options{URL: text})
		if err != nil || c.String() != want || c.timeout != 500*time.Millisecond {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
}

func TestWhatIsNoAddressIsRefusedWithTheWayOut(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "unix:/run/opa",
		"127.0.0.1:8181":                    "http://127.0.0.1:8181",
		"opa.example.com/v1/data/x":         "http://127.0.0.1:8181",
		"ftp://127.0.0.1/x":                 "http://127.0.0.1:8181",
		"/run/opa.sock":                     "unix:/run/opa",
		"http://:8181/x":                    "names no host",
		"https:///v1/data/x":                "names no host",
		"http://opa.example.com/x":          "https://",
		"http://127.0.0.1.evil.test/":       "https://",
		"http://0.0.0.0:8181/x":             "https://",
		"https://u:p@example.com/x":         "has a password",
		"https://example.com/x#f":           "fragment",
		"unix:":                             "absolute path",
		"unix:run/opa.sock":                 "absolute path",
		"unix://run/opa.sock":               "absolute path",
		"unix:/run/../opa.sock":             "absolute path",
		"unix:/run/opa.sock:/":              "name a document",
		"unix:/run/opa.sock:/x#f":           "name a document",
		"unix:/" + strings.Repeat("s", 120): "shorter",
	} {
		if c, err := New(Options{URL: text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
	for _, timeout := range []time.Duration{-1, MaxTimeout + 1} {
		if _, err := New(Options{URL: "http://127.0.0.1", Timeout: timeout}); err == nil {
			t.Errorf("a timeout of %v is taken", timeout)
		}
	}
}
