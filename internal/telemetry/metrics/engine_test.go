package metrics

import (
	"context"
	"errors"
	"testing"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/replicate"
	"tipstaff/internal/fleet/rpc"
)

// failing is a carrier whose calls end with an error.
type failing struct{ err error }

func (f failing) Carry(context.Context, rpc.Call, rpc.Caller) ([]byte, error) {
	return nil, f.err
}

func none() int64 { return 0 }

func TestWhatARunnerDoesNotTakeIsCountedByItsReason(t *testing.T) {
	m := New(Build{})
	m.TellEngine(EngineSource{
		Role: natsx.Runner, State: func() error { return natsx.ErrUnavailable }, Refused: none, Foreign: func() int64 { return 3 }, Dropped: none,
		Conflict: func() error { return errors.New("another one") },
	})
	for _, reason := range natsx.Reasons() {
		m.EngineRefused(reason)
	}
	m.EngineRefused(natsx.Replayed)
	m.EngineRefused("what a caller\nmakes up")
	got := scraped(t, m)
	for _, reason := range natsx.Reasons() {
		want := "1"
		if reason == natsx.Replayed {
			want = "2"
		}
		if name := `tipstaff_engine_refused_total{reason="` + string(reason) + `"}`; got[name] != want {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	for name, want := range map[string]string{
		`tipstaff_engine_refused_total{reason="other"}`:                 "1",
		`tipstaff_engine_faults_total{kind="foreign",role="runner"}`:    "3",
		`tipstaff_engine_name_taken`:                                    "1",
		`tipstaff_engine_connected{role="runner"}`:                      "", // 0 is left out
		`tipstaff_engine_call_errors_total{code="UNAVAILABLE"}`:         "",
		`tipstaff_engine_faults_total{kind="permission",role="runner"}`: "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

func TestCallsThatAGatewayCouldNotHaveCarriedOutAreCountedByTheirCode(t *testing.T) {
	m := New(Build{})
	m.TellEngine(EngineSource{Role: natsx.Gateway, State: func() error { return nil }, Refused: none, Foreign: none, Dropped: none, Runners: func() int { return 7 }})
	for _, err := range []error{
		&tipstaff.Error{Code: tipstaff.Busy, Rule: rpc.Rule}, &tipstaff.Error{Code: tipstaff.Busy, Rule: rpc.Rule},
		&tipstaff.Error{Code: tipstaff.OutcomeUnknown, Rule: rpc.Rule}, &tipstaff.Error{Code: "ODD", Rule: rpc.Rule},
		&tipstaff.Error{Code: tipstaff.CommandNotAllowed, Rule: "allowlist"}, nil,
	} {
		if _, got := m.Carrier(failing{err}).Carry(t.Context(), rpc.Call{}, nil); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	got := scraped(t, m)
	for name, want := range map[string]string{
		`tipstaff_engine_call_errors_total{code="BUSY"}`:                    "2",
		`tipstaff_engine_call_errors_total{code="COMMAND_OUTCOME_UNKNOWN"}`: "1",
		`tipstaff_engine_call_errors_total{code="other"}`:                   "1",
		`tipstaff_engine_call_errors_total{code="COMMAND_NOT_ALLOWED"}`:     "",
		`tipstaff_engine_connected{role="gateway"}`:                         "1",
		`tipstaff_engine_runners`:                                           "7",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	var off *Metrics
	off.TellEngine(EngineSource{})
	off.EngineRefused(natsx.Replayed)
	if next := (failing{}); off.Carrier(next) != rpc.Carrier(next) {
		t.Error("without metrics a carrier is wrapped")
	}
}

func TestAProcessWithTwoRolesShowsTheSumsOfBoth(t *testing.T) {
	m := New(Build{})
	for n := range uint64(2) {
		m.TellApprovals(func() int { return int(n) + 1 })
		m.TellCopies(func() replicate.Status {
			return replicate.Status{Written: 5, Copied: 4 + n, Batches: 1, Failures: map[string]uint64{"full": 1}, Old: []replicate.Backlog{{Bytes: 3}}}
		})
	}
	got := scraped(t, m)
	for name, want := range map[string]string{
		"tipstaff_approvals_pending": "3", "tipstaff_audit_copy_pending_records": "1", "tipstaff_audit_copy_batches_total": "2",
		`tipstaff_audit_copy_failures_total{reason="full"}`: "2", "tipstaff_audit_copy_old_trails": "1",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
}
