// Package metrics counts commands and their outcomes, for Prometheus. It only
// observes: [Metrics.Trail] counts the records as they are written,
// [Metrics.Runner] measures the time of commands, and an [Endpoint] shows both
// over HTTP, if the operator asks for it.
//
// No label contains text from a caller: labels are codes, causes and tiers of
// tipstaff, each from a short list; every other value becomes "other". So a
// caller can neither write into what an operator reads nor make it grow.
//
// The package has no global state: without a Metrics nothing is counted, and no
// port is opened. A nil *Metrics is useful: it wraps nothing.
//
// Read next: metrics.go for what is counted, trail.go and runner.go for when.
package metrics
