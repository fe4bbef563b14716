package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// outside is the floor of packages that are not part of the program.
const outside = -1

// Plan is the content of floors.txt.
type Plan struct {
	Packages []Package
	Owners   []Owner // who may use what
	Impure   []Owner // what pure packages must not use; the rows have no owners
	Groups   []Row   // folders of several packages
}

// Package is one package of the plan.
type Package struct {
	Line  int
	Path  string // relative to the module, "." for its root
	Floor int    // outside, or 0 and up
	Does  string
	Later bool // planned, not built
	Pure  bool
}

// Owner is one row about a dangerous or foreign package or name.
type Owner struct {
	Line     int
	Patterns []string
	By       []string // packages, "tests", or "nobody"
	Why      string
}

// Package returns the row of the package at path.
func (p *Plan) Package(path string) (Package, bool) {
	i := slices.IndexFunc(p.Packages, func(r Package) bool { return r.Path == path })
	if i < 0 {
		return Package{}, false
	}
	return p.Packages[i], true
}

// columns are separated by two or more blanks, so that a column may hold
// sentences.
var columns = regexp.MustCompile(`\s{2,}`)

// ParsePlan reads the text of a plan. Its errors name the line.
func ParsePlan(text string) (*Plan, error) {
	p := &Plan{}
	if err := eachRow("floors.txt", text, p.add); err != nil {
		return nil, err
	}
	return p, p.coherent()
}

// eachRow hands each indented row of a text to take, with its section, its line and its
// columns. An error of take gets the name of the file and the line.
func eachRow(file, text string, take func(section string, line int, cols []string) error) error {
	section := ""
	for i, line := range strings.Split(text, "\n") {
		row := strings.TrimSpace(line)
		switch {
		case row == "" || strings.HasPrefix(row, "#"):
		case row[0] == line[0]:
			section = row
		default:
			if err := take(section, i+1, columns.Split(row, -1)); err != nil {
				return fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
		}
	}
	return nil
}

func (p *Plan) add(section string, line int, cols []string) error {
	word, number, _ := strings.Cut(section, " ")
	switch {
	case section == "outside":
		return p.addPackage(line, outside, cols)
	case word == "floor":
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return fmt.Errorf("the section %q is not a floor with a number", section)
		}
		return p.addPackage(line, n, cols)
	case section == "owners":
		if len(cols) != 3 {
			return fmt.Errorf("a row of owners has three columns (what, who, why), this one has %d", len(cols))
		}
		p.Owners = append(p.Owners, Owner{Line: line, Patterns: list(cols[0]), By: list(cols[1]), Why: cols[2]})
	case section == "pure":
		if len(cols) != 2 {
			return fmt.Errorf("a row of pure has two columns (what, why), this one has %d", len(cols))
		}
		p.Impure = append(p.Impure, Owner{Line: line, Patterns: list(cols[0]), Why: cols[1]})
	case section == "groups":
		if len(cols) != 2 {
			return fmt.Errorf("a row of groups has two columns (folder, what it is for), this one has %d", len(cols))
		}
		p.Groups = append(p.Groups, Row{line, cols[0], cols[1]})
	default:
		return fmt.Errorf("the section %q is unknown; there are floor N, outside, owners, pure and groups", section)
	}
	return nil
}

func (p *Plan) addPackage(line, floor int, cols []string) error {
	if len(cols) != 2 {
		return fmt.Errorf("a package has two columns (path, what it does), this one has %d", len(cols))
	}
	r := Package{Line: line, Path: cols[0], Floor: floor}
	does := cols[1]
	does, r.Later = strings.CutPrefix(does, "later: ")
	does, r.Pure = strings.CutPrefix(does, "pure: ")
	if before, ok := p.Package(r.Path); ok {
		return fmt.Errorf("%s has a row already, in line %d", r.Path, before.Line)
	}
	r.Does = does
	if does == "" {
		return fmt.Errorf("say what %s does", r.Path)
	}
	p.Packages = append(p.Packages, r)
	return nil
}

// coherent reports owners that are not packages of the plan.
func (p *Plan) coherent() error {
	for _, o := range p.Owners {
		for _, by := range o.By {
			folder, all := strings.CutSuffix(by, "/...")
			if _, ok := p.Package(by); ok || by == "tests" || by == "nobody" {
				continue
			}
			if !all || !slices.ContainsFunc(p.Packages, func(r Package) bool { return strings.HasPrefix(r.Path, folder+"/") }) {
				return fmt.Errorf("floors.txt:%d: the owner %s is no package of the plan", o.Line, by)
			}
		}
	}
	return nil
}

func list(column string) []string {
	names := strings.Split(column, ",")
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
	}
	return names
}
