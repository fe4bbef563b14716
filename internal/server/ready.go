package server

import (
	"sync/atomic"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/front/httpserver"
	"tipstaff/internal/monitor"
)

// trailStatus is a trail that remembers when it last failed.
type trailStatus struct {
	monitor.Trail

	failed atomic.Int64 // ns since 1970; 0: never, or not since the last success
}

func (r *trailStatus) Append(rec audit.Record) error {
	err := r.Trail.Append(rec)
	switch {
	case err != nil:
		r.failed.Store(time.Now().UnixNano())
	case r.failed.Load() != 0:
		r.failed.Store(0)
	}
	return err
}

// suspicion is how long a trail that has failed counts as failing without
// another attempt to write: otherwise a server that gets no calls while it is
// not ready would never be ready again.
const suspicion = 10 * time.Second

// readiness says whether commands could run now.
func (st *Stack) readiness() httpserver.Readiness {
	r := httpserver.Readiness{Ready: true, Policy: "loaded", Trail: "writable"}
	if st.policy.Refused() {
		r.Policy = "loaded; the file that is there now cannot be used"
	}
	if _, err := st.host.Roots(); err != nil && st.gateway == nil {
		r.Ready, r.Policy = false, "ALLOWED_CWD_ROOTS is broken"
	}
	failed := st.trailStatus.failed.Load()
	if failed != 0 && time.Since(time.Unix(0, failed)) < suspicion || audit.Writable(st.settings.AuditDir()) != nil {
		r.Ready, r.Trail = false, "cannot be written"
	}
	if st.gateway != nil {
		return st.gatewayReadiness(r)
	}
	r.Sandbox = st.Sandbox.Status().Tier
	if st.Sandbox.Err() != nil {
		r.Ready, r.Sandbox = false, "not as strong as required"
	}
	return r
}
