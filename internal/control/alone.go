package control

import (
	"os"
	"time"

	"tipstaff/internal/freeze"
)

// What a person does about freezes while no server runs. The person is then the user
// of this process, and the record is the caller's.

// freezeAlone writes a freeze down. It comes into force even if it cannot be recorded.
func freezeAlone(dir string, e freeze.Entry, record Record) (freeze.Entry, bool, error) {
	e.By, e.UID, e.At = userName(uint32(os.Geteuid())), os.Geteuid(), time.Now().UTC().Truncate(time.Millisecond) //nolint:gosec // a user id is not negative where there are any
	var noted error
	if record != nil {
		noted = record(e, false)
	}
	in, already, err := freeze.Add(dir, e)
	if err != nil {
		return e, false, err
	}
	return in, already, noted
}

// liftAlone lifts a freeze, if that can be recorded.
func liftAlone(dir string, t freeze.Target, record Record) (freeze.Entry, error) {
	return freeze.Remove(dir, t, func(e freeze.Entry) error {
		if record == nil {
			return nil
		}
		e.By, e.UID = userName(uint32(os.Geteuid())), os.Geteuid() //nolint:gosec // see above
		return record(e, true)
	})
}
