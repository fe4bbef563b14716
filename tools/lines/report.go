package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// report prints the sums, and then each group with its packages.
func report(out io.Writer, packages map[string]lines) error {
	var total lines
	groups := map[string]lines{}
	members := map[string][]string{}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		group := groupOf(pkg)
		members[group] = append(members[group], pkg)
		sum := groups[group]
		for k, n := range packages[pkg] {
			total[k] += n
			sum[k] += n
		}
		groups[group] = sum
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "product\t%d\t\ntests beside packages\t%d\t\ne2e\t%d\t\nother\t%d\t\n", total[product], total[beside], total[endToEnd], total[other])
	if err := w.Flush(); err != nil {
		return err
	}
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\npackage\tproduct\ttests\te2e\tother\n")
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		row(w, group, groups[group])
		if len(members[group]) == 1 && members[group][0] == group {
			continue
		}
		for _, pkg := range members[group] {
			row(w, "  "+pkg, packages[pkg])
		}
	}
	return w.Flush()
}

func row(w io.Writer, name string, l lines) {
	cells := make([]string, 0, kinds)
	for _, n := range l {
		cell := "-"
		if n > 0 {
			cell = fmt.Sprint(n)
		}
		cells = append(cells, cell)
	}
	fmt.Fprintf(w, "%s\t%s\n", name, strings.Join(cells, "\t"))
}

// groupOf is the folder that a package is in: below internal its first folder there,
// else the first folder of all.
func groupOf(pkg string) string {
	parts := strings.Split(pkg, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
