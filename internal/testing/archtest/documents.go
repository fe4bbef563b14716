package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Written replaces what a document says between a marker of the given name and the next
// "<!-- end -->".
func Written(document, name, text string) (string, error) {
	begin := "<!-- written by go test ./internal/testing/archtest -update: " + name + " -->\n"
	before, rest, ok := strings.Cut(document, begin)
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(begin))
	}
	const end = "<!-- end -->"
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("no line %q after %q", strings.TrimSpace(end), strings.TrimSpace(begin))
	}
	return before + begin + "\n" + strings.TrimSpace(text) + "\n\n" + end + after, nil
}

// CoreTable shows the trusted core to readers of SECURITY.md.
func CoreTable(core *Core) string {
	var b strings.Builder
	b.WriteString("| package | what it does |\n|---|---|\n")
	for _, row := range core.Packages {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row.Path, row.Does)
	}
	return b.String()
}

// GroupList shows each package of the plan, in its group. It reports groups of more than
// one package that have no row.
func GroupList(plan *Plan) (text string, missing []string) {
	members := map[string][]Package{}
	for _, pkg := range plan.Packages {
		if !pkg.Later {
			folder := folderOf(pkg.Path)
			members[folder] = append(members[folder], pkg)
		}
	}
	var b strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(members)) {
		does := ""
		if i := slices.IndexFunc(plan.Groups, func(r Row) bool { return r.Path == folder }); i >= 0 {
			does = plan.Groups[i].Does
		} else if len(members[folder]) == 1 {
			does, _, _ = strings.Cut(members[folder][0].Does, ";")
		} else {
			missing = append(missing, folder)
		}
		fmt.Fprintf(&b, "- `%s`: %s", folder, does)
		if names := namesIn(folder, members[folder]); len(names) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(names, ", "))
		}
		b.WriteString("\n")
	}
	return b.String(), missing
}

// folderOf is the folder that a package is listed in: the group below internal, the
// folder of the tests, or the package itself.
func folderOf(pkg string) string {
	if group := groupOf(pkg); group != "" {
		return "internal/" + group
	}
	if strings.HasPrefix(pkg, "e2e/") {
		return "e2e"
	}
	return pkg
}

// namesIn returns the packages of a folder, named from there. The folder itself, where it
// is a package, needs no name.
func namesIn(folder string, packages []Package) []string {
	var names []string
	for _, pkg := range packages {
		if name, below := strings.CutPrefix(pkg.Path, folder+"/"); below {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
