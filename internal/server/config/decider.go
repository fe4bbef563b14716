package config

import (
	"strings"
	"time"
)

// Decider are the settings of the service that is asked about commands too.
type Decider struct {
	Address string        // TIPSTAFF_DECIDER, as it is written; "": no service
	Timeout time.Duration // TIPSTAFF_DECIDER_TIMEOUT
}

// maxDeciderTimeout is in milliseconds. It is short because every command waits
// for the decider.
const maxDeciderTimeout = 10_000

func (r *reader) decider() Decider {
	return Decider{
		Address: strings.TrimSpace(r.vars["TIPSTAFF_DECIDER"]),
		Timeout: time.Duration(r.number("TIPSTAFF_DECIDER_TIMEOUT", 500, maxDeciderTimeout)) * time.Millisecond,
	}
}
