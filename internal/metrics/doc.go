// Package metrics counts what happens on the road, for Prometheus. It stands
// beside the road and changes nothing there: [Metrics.Trail] counts the records
// as they are written, [Metrics.Runner] takes the time of what runs, and an
// [Endpoint] shows both over HTTP, if the operator asks for it.
//
// No label holds a word of a caller's: labels are codes, causes and tiers of
// ours, each out of a short list, and whatever is not on its list is "other". So
// a caller can neither write into what an operator reads nor make it grow.
//
// Nothing here is global: without a Metrics nothing is counted and nobody
// listens. A nil *Metrics is useful, and wraps nothing.
//
// Read next: metrics.go for what is counted, trail.go and runner.go for when.
package metrics
