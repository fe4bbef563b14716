// Package bench measures the budgets that BENCHMARKS.md records. Every figure
// is a ratio to a floor that is measured alternately in the same run, so that a
// noisy machine disturbs both alike; medians are compared.
//
// Run it with `make bench`, which writes the figures into BENCHMARKS.md.
package bench
