package nearest

import "testing"

func TestTheNearestWordIsNamed(t *testing.T) {
	commands := []string{"serve", "call", "run", "doctor", "policy", "install", "uninstall", "clients", "version", "audit"}
	for word, want := range map[string]string{
		"docter": "doctor", "srve": "serve", "plicy": "policy", "instal": "install", "uninstal": "uninstall",
		"client": "clients", "Doctor": "doctor", "vresion": "version", "xyzzy": "", "a": "", "inst": "install", "": "",
	} {
		if got := ToOrPrefix(word, commands); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
