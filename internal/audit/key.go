package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Key signs checkpoints: Ed25519, as specified for C2SP's signed notes.
type Key struct {
	// Public is the public part, "tipstaff-audit+1a2b3c4d+…". A verifier needs
	// it, and should keep it where the server cannot change it.
	Public string
	// Path is the file of the private part. Made reports that this call made
	// the key.
	Path string
	Made bool

	signer note.Signer
}

const (
	keyName       = "tipstaff-audit"
	keysDir       = "keys" // beside the trails
	privateFile   = "audit.key"
	publicFile    = "audit.pub"
	rotationsFile = "rotations"
	trailKeyFile  = "key.pub" // in each trail: the public key that signs it
)

// WarmUp computes the curve's table that the first key of a process needs. It
// takes about a millisecond; a server that starts can do that concurrently.
// Otherwise, [LoadKey] does it. WarmUp may be called at any time.
func WarmUp() { ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

// LoadKey reads the key that signs the trails in dir, or makes one: the private
// part with mode 0400, and the public part beside it. Servers that start at the
// same time get the same key.
func LoadKey(dir string) (*Key, error) {
	k, err := loadKey(filepath.Join(dir, keysDir))
	if err != nil {
		return nil, fmt.Errorf("cannot sign the trail: %w", err)
	}
	return k, nil
}

// PublicKey reads the public part of the key that signs the trails in dir. It
// returns "" if no server has made one yet.
func PublicKey(dir string) (string, error) {
	k, err := readKey(filepath.Join(dir, keysDir, privateFile))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoKey): // the next server makes one
		return "", nil
	case err != nil:
		return "", fmt.Errorf("cannot sign the trail: %w", err)
	}
	return k.Public, nil
}

func loadKey(dir string) (*Key, error) {
	path := filepath.Join(dir, privateFile)
	k, err := readKey(path)
	if errors.Is(err, errNoKey) {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) || k != nil {
		return k, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	fresh, private, err := newKey()
	if err != nil {
		return nil, err
	}
	fresh.Path = path
	// The first server to link its file has made the key; the others read it.
	temp, err := writeTemp(dir, private, false) // see persist
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(temp) }()
	if err := os.Link(temp, fresh.Path); errors.Is(err, fs.ErrExist) {
		return readKey(fresh.Path)
	} else if err != nil {
		return nil, err
	}
	fresh.Made = true
	return fresh, writePublic(dir, fresh.Public, false)
}

// persist syncs a key that was just made. It runs in the background and before the
// first sync of the trail, because the start of a server would otherwise wait for
// four syncs. If the machine
// fails before, the remains are recognized as no key (see readKey).
func (k *Key) persist() {
	dir := filepath.Dir(k.Path)
	for _, path := range []string{k.Path, filepath.Join(dir, publicFile)} {
		if f, err := os.Open(path); err == nil {
			_ = f.Sync()
			_ = f.Close()
		}
	}
	syncDirectory(dir)
	syncDirectory(filepath.Dir(dir))
}

// newKey makes a key, and returns the content of its file.
func newKey() (k *Key, private string, err error) {
	secret, public, err := note.GenerateKey(rand.Reader, keyName)
	if err != nil {
		return nil, "", err
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, "", err
	}
	return &Key{Public: public, signer: signer}, secret + "\n" + public + "\n", nil
}

// errNoKey: the machine failed before the key was on the disk. The key has
// signed nothing that another party could have kept.
var errNoKey = errors.New("the file of the key is empty")

func readKey(path string) (*Key, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errNoKey
	}
	secret, rest, _ := strings.Cut(string(data), "\n")
	public := strings.TrimSpace(rest)
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, fmt.Errorf("%s holds no key: %w; to have a new one made, move it away", path, err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil || verifier.KeyHash() != signer.KeyHash() {
		return nil, fmt.Errorf("%s holds two halves that do not belong together; to have a new key made, move it away", path)
	}
	return &Key{Public: public, Path: path, signer: signer}, nil
}

// writeTemp writes a file that only its owner can read, and no user can write.
func writeTemp(dir, text string, durable bool) (path string, err error) {
	f, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o400))
	if durable {
		err = errors.Join(err, f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// writePublic writes the public part beside the private one.
func writePublic(dir, public string, durable bool) error {
	temp, err := writeTemp(dir, public+"\n", durable)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, publicFile)); err != nil {
		_ = os.Remove(temp)
		return err
	}
	if durable {
		syncDirectory(dir)
	}
	return nil
}

// RotateKey makes a new key for the trails in dir. The old and the new key sign
// that the new one follows the old one, so a verifier that trusts either can
// trust both. Then the old private part is removed. Running servers keep their
// key, which signs their trails to the end.
func RotateKey(dir string, now time.Time) (*Key, error) {
	dir = filepath.Join(dir, keysDir)
	old, err := readKey(filepath.Join(dir, privateFile))
	if err != nil {
		return nil, fmt.Errorf("cannot rotate the key: %w", err)
	}
	fresh, private, err := newKey()
	if err == nil {
		err = replaceKey(dir, old, fresh, private, now)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot rotate the key: %w", err)
	}
	fresh.Path, fresh.Made = old.Path, true
	return fresh, nil
}

func replaceKey(dir string, old, fresh *Key, private string, now time.Time) error {
	statement, err := note.Sign(&note.Note{Text: rotation{old.Public, fresh.Public}.text(now)}, old.signer, fresh.signer)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, rotationsFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(statement, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	temp, err := writeTemp(dir, private, true)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, old.Path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return writePublic(dir, fresh.Public, true)
}
