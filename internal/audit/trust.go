package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// rotation is the statement that one key follows another.
type rotation struct{ old, fresh string }

const rotationHeader = keyName + " key rotation"

func (r rotation) text(at time.Time) string {
	return fmt.Sprintf("%s\nold %s\nnew %s\n%s%s\n", rotationHeader, r.old, r.fresh, timeLine, at.UTC().Format(timeLayout))
}

// openRotation parses a statement and checks the signatures of both keys.
func openRotation(msg []byte) (r rotation, err error) {
	text, _, _ := strings.Cut(string(msg), "\n\n")
	for line := range strings.SplitSeq(text, "\n") {
		if key, ok := strings.CutPrefix(line, "old "); ok {
			r.old = key
		}
		if key, ok := strings.CutPrefix(line, "new "); ok {
			r.fresh = key
		}
	}
	if !strings.HasPrefix(text, rotationHeader+"\n") {
		return r, errors.New("it is no rotation of a key")
	}
	for _, key := range []string{r.old, r.fresh} {
		known, err := verifiers(key)
		if err != nil {
			return r, err
		}
		if _, err := note.Open(msg, known); err != nil {
			return r, err
		}
	}
	return r, nil
}

func verifiers(keys ...string) (note.Verifiers, error) {
	var list []note.Verifier
	for _, key := range keys {
		v, err := note.NewVerifier(key)
		if err != nil {
			return nil, fmt.Errorf("%q is no public key (it looks like %s+1a2b3c4d+…): %w", key, keyName, err)
		}
		list = append(list, v)
	}
	return note.VerifierList(list...), nil
}

// CheckPublic returns what is wrong with a public key in its written form.
func CheckPublic(key string) error {
	_, err := verifiers(key)
	return err
}

func isKey(key string) bool { return CheckPublic(key) == nil }

// trust is the set of keys that may have signed the trails of a directory.
type trust struct {
	keys      []string // nil: the key that a trail itself names, because no better one is known
	rotations []rotation
}

// newTrust begins with the given public key, or, if it is "", with the one
// beside the trails in dir.
func (f Files) newTrust(dir, public string) (t trust, err error) {
	keys := filepath.Join(dir, keysDir)
	if public == "" {
		data, err := f.ReadFile(filepath.Join(keys, publicFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
		public = strings.TrimSpace(string(data))
	}
	if public == "" {
		return t, nil
	}
	if _, err := verifiers(public); err != nil {
		return t, err
	}
	t.keys = []string{public}
	data, err := f.ReadFile(filepath.Join(keys, rotationsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	notes, _ := splitNotes(data)
	for _, msg := range notes {
		if r, err := openRotation(msg); err == nil { // other statements have no effect
			t.rotations = append(t.rotations, r)
		}
	}
	// Each key of a rotation vouches for the other, so trust follows rotations
	// in both directions.
	for grown := true; grown; {
		grown = false
		for _, r := range t.rotations {
			if slices.Contains(t.keys, r.old) != slices.Contains(t.keys, r.fresh) {
				t.keys = append(t.keys, r.old, r.fresh)
				grown = true
			}
		}
	}
	return t, nil
}

// accepts reports whether a key may have signed a trail.
func (t trust) accepts(key string) bool { return t.keys == nil || slices.Contains(t.keys, key) }
