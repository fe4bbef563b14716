package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
)

// DigestOf tells calls with one id apart: by the tool and the arguments as such, not
// by how they are written, and without the id itself, which a call that asks later
// has and the first one may not have had.
func DigestOf(tool string, arguments []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(tool+"\x00"), Canonical(arguments, "command_id", "commandId")...))
}

// Canonical is a JSON text without what depends on the order of members and on
// blanks, and without members of these names. What is no JSON is returned as it is.
func Canonical(text []byte, without ...string) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	if m, is := v.(map[string]any); is {
		for _, name := range without {
			delete(m, name)
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return out
}
