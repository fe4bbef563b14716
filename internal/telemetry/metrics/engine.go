package metrics

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/rpc"
)

// EngineSource tells about one role of a process in a fleet. Runners and Conflict may
// be nil.
type EngineSource struct {
	Role     natsx.Role
	State    func() error // why there is no connection; nil: there is one
	Refused  func() int64 // what the servers' permissions have refused
	Foreign  func() int64 // messages that no member can have sent
	Dropped  func() int64 // times that messages came faster than they were read
	Runners  func() int   // how many a gateway knows
	Conflict func() error // another runner has the name; nil: none has
}

// fleet shows what concerns the engine. It shows nothing on a server without one.
type fleet struct {
	mu      sync.Mutex
	sources []EngineSource

	refused *prometheus.CounterVec // reason
	failed  *prometheus.CounterVec // code

	connected, faults, runners, conflict *prometheus.Desc
}

func newFleet() *fleet {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &fleet{
		refused:   prometheus.NewCounterVec(opts("engine_refused_total", "Messages of gateways that this runner did not take, by reason; nothing ran by them."), []string{"reason"}),
		failed:    prometheus.NewCounterVec(opts("engine_call_errors_total", "Calls that this gateway could not have carried out, by the code that their callers got."), []string{"code"}),
		connected: desc("engine_connected", "1 while there is a connection to the engine.", "role"),
		faults:    desc("engine_faults_total", "What the engine's servers have refused to this key (permission), messages that no member can have sent (foreign), and times that messages were dropped because they came too fast (dropped).", "role", "kind"),
		runners:   desc("engine_runners", "Runners that this gateway knows."),
		conflict:  desc("engine_name_taken", "1 if another runner has this runner's name, so that this one takes no more sessions."),
	}
}

// callCodes are the codes of errors about gateways and runners.
var callCodes = []tipstaff.Code{tipstaff.SessionLost, tipstaff.Unavailable, tipstaff.OutcomeUnknown, tipstaff.Busy, tipstaff.InvalidParameters}

// TellEngine adds a role of this process.
func (m *Metrics) TellEngine(s EngineSource) {
	if m == nil {
		return
	}
	f := m.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources = append(f.sources, s)
	switch s.Role {
	case natsx.Runner:
		for _, r := range natsx.Reasons() {
			f.refused.WithLabelValues(string(r))
		}
	case natsx.Gateway:
		for _, c := range callCodes {
			f.failed.WithLabelValues(string(c))
		}
	}
}

// EngineRefused counts a message that a runner did not take.
func (m *Metrics) EngineRefused(why natsx.Reason) {
	if m == nil {
		return
	}
	label := other
	if slices.Contains(natsx.Reasons(), why) {
		label = string(why)
	}
	m.fleet.refused.WithLabelValues(label).Inc()
}

// Carrier returns a carrier that carries calls by next and counts those that could
// not be carried out.
func (m *Metrics) Carrier(next rpc.Carrier) rpc.Carrier {
	if m == nil {
		return next
	}
	return carrying{m.fleet, next}
}

type carrying struct {
	fleet *fleet
	next  rpc.Carrier
}

func (c carrying) Carry(ctx context.Context, call rpc.Call, at rpc.Caller) ([]byte, error) {
	answer, err := c.next.Carry(ctx, call, at)
	var e *tipstaff.Error
	if errors.As(err, &e) && e.Rule == rpc.Rule {
		label := other
		if slices.Contains(callCodes, e.Code) {
			label = string(e.Code)
		}
		c.fleet.failed.WithLabelValues(label).Inc()
	}
	return answer, err
}

// Describe implements [prometheus.Collector].
func (f *fleet) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{f.connected, f.faults, f.runners, f.conflict} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (f *fleet) Collect(ch chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gauge := func(d *prometheus.Desc, is bool, labels ...string) {
		v := 0.0
		if is {
			v = 1
		}
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, s := range f.sources {
		role := string(s.Role)
		gauge(f.connected, s.State() == nil, role)
		for kind, n := range map[string]int64{"permission": s.Refused(), "foreign": s.Foreign(), "dropped": s.Dropped()} {
			ch <- prometheus.MustNewConstMetric(f.faults, prometheus.CounterValue, float64(n), role, kind)
		}
		if s.Runners != nil {
			ch <- prometheus.MustNewConstMetric(f.runners, prometheus.GaugeValue, float64(s.Runners()))
		}
		if s.Conflict != nil {
			gauge(f.conflict, s.Conflict() != nil)
		}
	}
}
