package control

import (
	"os/user"
	"strconv"
)

// Person is a user of this machine, as the kernel names the other end of a socket.
type Person struct {
	Name string
	UID  int
}

// userName returns the name of a user, or "uid N" for one without.
func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "uid " + id
}
