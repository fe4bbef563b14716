package archtest

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// What a reader can take in: the packages of a group, and the files of a package.
const (
	mostPackages = 9
	mostFiles    = 80
)

// groupOf is the group of a package: the folder below internal that it is in; "" for
// packages elsewhere.
func groupOf(pkg string) string {
	below, ok := strings.CutPrefix(pkg, "internal/")
	if !ok {
		return ""
	}
	group, _, _ := strings.Cut(below, "/")
	return group
}

// groups checks that 'ls internal' shows the architecture: no group is too large, and
// one can be read without knowing those that import it.
func (c *checker) groups(files []File) {
	packages := map[string]map[string]bool{}
	count := map[string]int{}
	imports := map[string]map[string]*File{} // from group to group, with one file that does it
	for i := range files {
		f := &files[i]
		from, pkg := groupOf(f.Package()), f.Package()
		if from == "" || from == outsideGroup {
			continue
		}
		add(packages, from, pkg, true)
		if f.Test {
			continue
		}
		count[pkg]++
		for _, use := range f.Uses {
			inner, ok := strings.CutPrefix(use.Path, c.module+"/")
			if to := groupOf(inner); ok && to != "" && to != from {
				add(imports, from, to, f)
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(packages)) {
		if in := packages[group]; len(in) > mostPackages {
			c.fault(path.Join("internal", group), 1, "groups", "%d packages are in one group; the most are %d. Make two groups that each have one subject, or one package of two.", len(in), mostPackages)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(count)) {
		if n := count[pkg]; n > mostFiles {
			c.fault(pkg, 1, "groups", "%d files are in one package, tests aside; the most are %d. Take out what has a subject of its own.", n, mostFiles)
		}
	}
	for _, circle := range circles(imports) {
		f := imports[circle[0]][circle[1]]
		c.fault(f.Path, 1, "groups", "groups import each other in a circle: %s. Move what both sides need into a group of its own, or declare the interface where it is used.", strings.Join(circle, " -> "))
	}
}

// outsideGroup is for tests alone; nothing that is released imports it.
const outsideGroup = "testing"

// circles returns the shortest circle that each group is in, once.
func circles(imports map[string]map[string]*File) [][]string {
	var found [][]string
	in := map[string]bool{} // a circle that has been found
	for _, start := range slices.Sorted(maps.Keys(imports)) {
		if in[start] {
			continue
		}
		queue, seen := [][]string{{start}}, map[string]bool{}
		for len(queue) > 0 {
			way := queue[0]
			queue = queue[1:]
			for _, next := range slices.Sorted(maps.Keys(imports[way[len(way)-1]])) {
				if next == start {
					for _, group := range way {
						in[group] = true
					}
					found, queue = append(found, append(slices.Clone(way), start)), nil
					break
				}
				if !seen[next] {
					seen[next] = true
					queue = append(queue, append(slices.Clone(way), next))
				}
			}
		}
	}
	return found
}

func add[V any](m map[string]map[string]V, key, inner string, v V) {
	if m[key] == nil {
		m[key] = map[string]V{}
	}
	m[key][inner] = v
}
