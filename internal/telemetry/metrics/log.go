package metrics

import "github.com/prometheus/client_golang/prometheus"

// TellLog adds a function that returns how many lines of the server's log were lost
// because they were not read. It is called once.
func (m *Metrics) TellLog(lost func() uint64) {
	if m == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewCounterFunc(
		opts("log_lines_lost_total", "Lines of the server's log that were lost because standard error was not read."),
		func() float64 { return float64(lost()) },
	))
}
