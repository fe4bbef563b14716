package natsx

import (
	"fmt"

	"github.com/nats-io/nkeys"
)

// NewKey makes a key of a member: the seed, which is secret, and the public half.
func NewKey() (seed, public string, err error) {
	key, err := nkeys.CreateUser()
	if err != nil {
		return "", "", fmt.Errorf("cannot make a key: %w", err)
	}
	defer key.Wipe()
	s, err := key.Seed()
	if err != nil {
		return "", "", fmt.Errorf("cannot make a key: %w", err)
	}
	public, err = key.PublicKey()
	return string(s) + "\n", public, err
}

// PublicKey is the public half of the key whose seed is in a file.
func PublicKey(file string) (string, error) {
	key, err := ReadSeed(file)
	if err != nil {
		return "", err
	}
	defer key.Wipe()
	return key.PublicKey()
}
