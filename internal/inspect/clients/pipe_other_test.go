//go:build !unix

package clients

import "os"

func makePipe(path string) error { return os.Mkdir(path, 0o700) }
