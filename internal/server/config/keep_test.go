package config

import (
	"strings"
	"testing"
	"time"

	"tipstaff/internal/audit/retention"
)

func TestTrailsAndRecordingsAreKeptUnlessTheOperatorBoundsThem(t *testing.T) {
	s, err := FromEnvironment([]string{"HOME=/h"})
	if err != nil || !s.AuditKeep.None() || !s.RecordingsKeep.None() {
		t.Errorf("%+v, %+v, %v", s.AuditKeep, s.RecordingsKeep, err)
	}
	s, err = FromEnvironment([]string{"HOME=/h", "TIPSTAFF_AUDIT_KEEP=90d,50GiB", "TIPSTAFF_RECORDINGS_KEEP=1w"})
	if err != nil || s.AuditKeep != (retention.Bounds{Age: 90 * 24 * time.Hour, Bytes: 50 << 30}) || s.RecordingsKeep != (retention.Bounds{Age: 7 * 24 * time.Hour}) {
		t.Errorf("%+v, %+v, %v", s.AuditKeep, s.RecordingsKeep, err)
	}
	for _, name := range []string{"TIPSTAFF_AUDIT_KEEP", "TIPSTAFF_RECORDINGS_KEEP"} {
		_, err := FromEnvironment([]string{"HOME=/h", name + "=90"})
		if err == nil || !strings.Contains(err.Error(), name+`="90": must be an age`) {
			t.Error(err)
		}
	}
}
