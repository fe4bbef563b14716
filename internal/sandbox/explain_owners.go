//go:build linux

package sandbox

import (
	"golang.org/x/sys/unix"

	"tipstaff/internal/protected"
)

// ownerWords are in what programs print when they may not change the owner of a
// file.
var ownerWords = []string{"ownership", "chown", "changing group", "owner", "set group id", "setgid", "setuid", "setgroups", "seteuid", "setegid", "setresuid", "setresgid"}

var (
	noOwner = newPattern(`(?i)(chang\w* (the )?(ownership|owner|group)|\bl?f?chown\w*\b|preserve ownership).*(not permitted|invalid argument|EPERM|EINVAL)|EPERM.*\bl?f?chown\b`)
	noUser  = newPattern(`(?i)\bset(e|res|re)?(uid|gid|groups)\b.*(not permitted|invalid argument|EPERM|EINVAL)`)
)

// whyNotOwner explains what a root without capabilities cannot do. Any other user
// cannot do it without the sandbox either, nor the root of a user namespace with
// no other users.
func (c *Confined) whyNotOwner(p remark) string {
	switch {
	case unix.Geteuid() != 0 || protected.OnlyUser():
		return ""
	case noOwner.Match(p.line):
		return "commands run as root without capabilities here and cannot change who owns a file: leave the owner as it is (cp without --preserve=ownership, tar --no-same-owner, install without -o)."
	case noUser.Match(p.line):
		return "commands run as root without capabilities here and cannot become another user: run the program as it is."
	}
	return ""
}
