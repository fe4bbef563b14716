//go:build !unix

package sink

import "errors"

var errTooLong = errors.New("message too long")
