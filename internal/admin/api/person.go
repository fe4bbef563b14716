package api

import (
	"os/user"
	"strconv"

	"tipstaff"
)

// personOf returns a user of this machine, with the name "uid N" if it has none.
func personOf(uid uint32) tipstaff.Person {
	id := strconv.FormatUint(uint64(uid), 10)
	name := "uid " + id
	if u, err := user.LookupId(id); err == nil {
		name = u.Username
	}
	return tipstaff.Person{Name: name, UID: int(uid)}
}
