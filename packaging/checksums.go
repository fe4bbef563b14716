package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// checksums writes the SHA-256 of every file of the release, as sha256sum -c
// reads it.
func checksums(_ *stage, out string) error {
	names, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	return create(out, "checksums.txt", func(w io.Writer) error {
		for _, n := range names {
			data, err := os.ReadFile(filepath.Join(out, n.Name()))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(data), n.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}
