//go:build !unix

package freeze

import "os"

func open(path string) (*os.File, error) { return os.Open(path) }

func makeDirectory(dir string) error { return os.MkdirAll(dir, 0o700) }

func ownAs(*os.File, string) error { return nil }
