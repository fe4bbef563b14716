package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the figures that 'go test -bench' has printed.
type results struct {
	machine string
	values  map[metric][]float64 // more than one with -count
}

// metric is one column of the results of one benchmark.
type metric struct {
	pkg  string // relative to the module
	name string // as "BenchmarkCall/off"
	unit string // as "p50-ratio" or "ns/op"
}

var (
	resultLine = regexp.MustCompile(`^(Benchmark\S+)\s+\d+\s+(.*)$`)
	processors = regexp.MustCompile(`-(\d+)$`)
)

func parseResults(printed string) results {
	r := results{values: map[metric][]float64{}}
	pkg := ""
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if path, ok := strings.CutPrefix(line, "pkg: "); ok {
			if _, inner, nested := strings.Cut(path, "/internal/"); nested {
				pkg = "internal/" + inner
			} else {
				pkg = path
			}
		}
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			r.machine = shorten(cpu)
		}
		m := resultLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if n := processors.FindStringSubmatch(m[1]); n != nil && r.machine != "" && !strings.Contains(r.machine, ",") {
			r.machine += ", " + n[1] + " cores"
		}
		columns := strings.Fields(m[2])
		for i := 0; i+1 < len(columns); i += 2 {
			value, err := strconv.ParseFloat(columns[i], 64)
			if err != nil {
				break
			}
			// The number of processors follows the name unless it is 1, so a name that
			// ends like one counts both ways.
			r.add(metric{pkg, m[1], columns[i+1]}, value)
			if name := processors.ReplaceAllString(m[1], ""); name != m[1] {
				r.add(metric{pkg, name, columns[i+1]}, value)
			}
		}
	}
	return r
}

func (r results) add(m metric, value float64) { r.values[m] = append(r.values[m], value) }

var noise = regexp.MustCompile(`\((R|TM)\)| CPU\b| Processor\b| @.*| \d+-Core\b`)

func shorten(cpu string) string {
	return strings.Join(strings.Fields(noise.ReplaceAllString(cpu, "")), " ")
}

// median of the values of a metric.
func (r results) median(m metric) (float64, bool) {
	values := slices.Sorted(slices.Values(r.values[m]))
	if len(values) == 0 {
		return 0, false
	}
	return values[len(values)/2], true
}

// scale says how many of a small unit are one of a larger one.
var scale = map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "kB": 1e3, "MB": 1e6}

var times = map[string]bool{"ns": true, "µs": true, "ms": true, "s": true}

// convert turns a value of a metric into the unit of a budget.
func convert(value float64, metricUnit, budgetUnit string) (float64, error) {
	base := metricUnit
	if per, _, ok := strings.Cut(metricUnit, "/"); ok && !strings.HasSuffix(metricUnit, "/s") {
		base = per // ns/op, B/session
	}
	if i := strings.LastIndexByte(base, '-'); i >= 0 {
		base = base[i+1:] // p99-µs
	}
	from, to := scale[base], scale[budgetUnit]
	switch {
	case base == budgetUnit, from == 0 && to == 0:
		return value, nil
	case from == 0 || to == 0 || times[base] != times[budgetUnit]:
		return 0, fmt.Errorf("the metric %s cannot be compared with a budget in %s", metricUnit, budgetUnit)
	}
	return value * from / to, nil
}
