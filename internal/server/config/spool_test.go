package config

import (
	"strings"
	"testing"
)

func TestTheSpoolIsOnUnlessTheOperatorSaysOff(t *testing.T) {
	for _, c := range []struct {
		env  string
		want Spool
		dir  string
	}{
		{"", Spool{false, 64 << 20, 1 << 30}, "/s/spool"},
		{"TIPSTAFF_SPOOL=on", Spool{false, 64 << 20, 1 << 30}, "/s/spool"},
		{"TIPSTAFF_SPOOL=off", Spool{true, 64 << 20, 1 << 30}, ""},
		{"TIPSTAFF_SPOOL_BYTES=1000", Spool{false, 1000, 1 << 30}, "/s/spool"},
		{"TIPSTAFF_SPOOL_TOTAL_BYTES=1000", Spool{false, 1000, 1000}, "/s/spool"},
	} {
		s, err := FromEnvironment([]string{"HOME=/h", "TIPSTAFF_STATE_DIR=/s", c.env})
		if err != nil || s.Spool != c.want || s.SpoolDir() != c.dir {
			t.Errorf("%s: %+v, %s, %v", c.env, s.Spool, s.SpoolDir(), err)
		}
	}
}

func TestASpoolThatCannotBeUnderstoodIsAFault(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"TIPSTAFF_SPOOL=no"}, `TIPSTAFF_SPOOL="no": must be on or off`},
		{[]string{"TIPSTAFF_SPOOL_BYTES=0"}, "TIPSTAFF_SPOOL_BYTES=\"0\": must be a positive whole number"},
		{[]string{"TIPSTAFF_SPOOL_TOTAL_BYTES=1G"}, "TIPSTAFF_SPOOL_TOTAL_BYTES=\"1G\": must be"},
		{[]string{"TIPSTAFF_SPOOL_BYTES=2000", "TIPSTAFF_SPOOL_TOTAL_BYTES=1000"}, "must not be above TIPSTAFF_SPOOL_TOTAL_BYTES, which is 1000"},
	} {
		if _, err := FromEnvironment(append(c.env, "HOME=/h")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.env, err)
		}
	}
}
