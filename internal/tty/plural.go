package tty

import (
	"fmt"
	"strings"
)

// Plural returns a number with its noun.
func Plural(n int64, one, many string) string {
	return fmt.Sprintf("%d %s", n, OneOrMany(n, one, many))
}

// OneOrMany returns the noun for a number.
func OneOrMany(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Bytes formats a size for people.
func Bytes(n int64) string {
	size, units := float64(n), []string{"bytes", "kB", "MB", "GB", "TB"}
	for size >= 1000 && len(units) > 1 {
		size, units = size/1000, units[1:]
	}
	if units[0] == "bytes" {
		return Plural(n, "byte", "bytes")
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + " " + units[0]
}
