package protected

import (
	"fmt"
	"os"
	"strings"
)

// Unmapped reports whether a user id stands for all users without a mapping in
// this user namespace: user_namespaces(7).
func Unmapped(uid int) bool {
	if number("/proc/sys/kernel/overflowuid") != uid {
		return false
	}
	mapped, known := users(uid)
	return known && !mapped
}

// OnlyUser reports whether this user namespace has no user but the server's:
// nobody in it can become another one, or give files away.
func OnlyUser() bool {
	text, err := os.ReadFile(uidMap)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 1 {
		return false
	}
	f := strings.Fields(lines[0])
	return len(f) == 3 && f[2] == "1"
}

const uidMap = "/proc/self/uid_map"

// users reports whether a user id is mapped.
func users(uid int) (mapped, known bool) {
	text, err := os.ReadFile(uidMap)
	if err != nil {
		return false, false
	}
	for line := range strings.Lines(string(text)) {
		var first, outside, count int
		if _, err := fmt.Sscan(line, &first, &outside, &count); err != nil {
			return false, false
		}
		if uid >= first && uid-first < count {
			return true, true
		}
	}
	return false, true
}
