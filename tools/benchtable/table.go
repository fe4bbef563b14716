package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// measurement is what the rows of one run have in common.
type measurement struct{ date, commit, machine string }

const (
	begin = "<!-- written by make bench -->\n"
	end   = "<!-- end -->"

	// benchPackage is the package of benchmarks that are named without one.
	benchPackage = "internal/testing/bench"
)

// The cells of a row.
const (
	cellBudget = iota + 1
	cellFigure
	cellDate
	cellCommit
	cellMachine
	cellBy
	cells
)

// rewrite returns the document with the rows that were measured, and their number.
func rewrite(document string, r results, m measurement) (string, int, error) {
	before, rest, ok := strings.Cut(document, begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", 0, fmt.Errorf("no lines %q and %q", strings.TrimSpace(begin), end)
	}
	lines := strings.Split(table, "\n")
	count := 0
	for i, line := range lines {
		row, ok := cut(line)
		if !ok {
			continue
		}
		key, ok := measured(row[cellBy])
		if !ok {
			continue
		}
		value, ok := r.median(key)
		if !ok {
			continue
		}
		figure, err := judge(row[cellBudget], value, key.unit)
		if err != nil {
			return "", 0, fmt.Errorf("%s: %w", row[0], err)
		}
		row[cellFigure], row[cellDate], row[cellCommit], row[cellMachine] = figure, m.date, m.commit, m.machine
		lines[i] = "| " + strings.Join(row, " | ") + " |"
		count++
	}
	return before + begin + strings.Join(lines, "\n") + end + after, count, nil
}

// cut returns the cells of a row of the table; not of its head. A bar in a cell is
// written with a backslash.
func cut(line string) ([]string, bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "| ") || !strings.HasSuffix(line, " |") || strings.HasPrefix(line, "| what ") {
		return nil, false
	}
	row := strings.Split(line[2:len(line)-2], " | ")
	return row, len(row) == cells
}

var byBenchmark = regexp.MustCompile("^`(?:(\\S+)\\.)?(Benchmark[^`]+)` (\\S+)$")

// measured reads the last cell of a row, as in "`BenchmarkCall/off` p50-ratio" or
// "`internal/audit.BenchmarkVerify200000` ns/op".
func measured(by string) (metric, bool) {
	m := byBenchmark.FindStringSubmatch(by)
	if m == nil {
		return metric{}, false
	}
	pkg := m[1]
	if pkg == "" {
		pkg = benchPackage
	}
	return metric{pkg, m[2], m[3]}, true
}

var budgetForm = regexp.MustCompile(`^(≤|≥) ([0-9.]+) (\S+)$`)

// judge writes a figure, in bold where it misses the budget. A budget in words is for
// people to compare.
func judge(budget string, value float64, metricUnit string) (string, error) {
	m := budgetForm.FindStringSubmatch(budget)
	switch {
	case m == nil && !strings.HasPrefix(budget, "≤") && !strings.HasPrefix(budget, "≥"):
		return digits(value) + " " + strings.Replace(metricUnit[strings.LastIndexByte(metricUnit, '-')+1:], "ratio", "×", 1), nil
	case m == nil:
		return "", fmt.Errorf("the budget %q is not like \"≤ 1.5 ×\"", budget)
	}
	limit, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return "", err
	}
	if value, err = convert(value, metricUnit, m[3]); err != nil {
		return "", err
	}
	figure := digits(value) + " " + m[3]
	if m[1] == "≤" && value > limit || m[1] == "≥" && value < limit {
		figure = "**" + figure + ", missed**"
	}
	return figure, nil
}

// digits writes three of them.
func digits(value float64) string {
	if value >= 100 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
