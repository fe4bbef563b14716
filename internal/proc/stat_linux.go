//go:build linux && (amd64 || arm64)

package proc

import (
	"bytes"
	"strconv"
)

// parseStat reads state and parent from /proc/PID/stat. The program's name
// comes before them in parentheses and may contain any character.
func parseStat(data []byte) (state byte, parent int, ok bool) {
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return 0, 0, false
	}
	f := bytes.Fields(data[i+1:])
	if len(f) < 2 || len(f[0]) != 1 {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	return f[0][0], parent, err == nil
}
