package config

import (
	"strings"
	"testing"
	"time"
)

func TestTheDeciderHasHalfASecondUnlessItIsSaid(t *testing.T) {
	s, err := FromEnvironment([]string{"HOME=/h"})
	if err != nil || s.Decider.Address != "" || s.Decider.Timeout != 500*time.Millisecond {
		t.Errorf("%+v, %v", s.Decider, err)
	}
	s, err = FromEnvironment([]string{"HOME=/h", "TIPSTAFF_DECIDER= unix:/run/opa.sock ", "TIPSTAFF_DECIDER_TIMEOUT=10000"})
	if err != nil || s.Decider.Address != "unix:/run/opa.sock" || s.Decider.Timeout != 10*time.Second {
		t.Errorf("%+v, %v", s.Decider, err)
	}
	for _, value := range []string{"0", "-1", "1s", "10001", "none"} {
		if _, err := FromEnvironment([]string{"HOME=/h", "TIPSTAFF_DECIDER_TIMEOUT=" + value}); err == nil || !strings.Contains(err.Error(), "at most 10000") {
			t.Errorf("%s: %v", value, err)
		}
	}
}
