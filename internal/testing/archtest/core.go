package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Core is the content of core.txt.
type Core struct {
	Packages   []Row
	Budget     int // the most lines of code
	BudgetLine int
	Support    []Row
	Modules    []Owner
}

// Row is a package with what it does.
type Row struct {
	Line int
	Path string
	Does string
}

// ParseCore reads the text of core.txt. Its errors name the line.
func ParseCore(text string) (*Core, error) {
	c := &Core{}
	return c, eachRow("core.txt", text, func(section string, line int, cols []string) error {
		var err error
		switch {
		case section == "core" && len(cols) == 2:
			c.Packages = append(c.Packages, Row{line, cols[0], cols[1]})
		case section == "budget" && len(cols) == 1:
			c.BudgetLine = line
			c.Budget, err = strconv.Atoi(cols[0])
		case section == "support" && len(cols) == 2:
			c.Support = append(c.Support, Row{line, cols[0], cols[1]})
		case section == "modules" && len(cols) == 3:
			c.Modules = append(c.Modules, Owner{Line: line, Patterns: list(cols[0]), By: list(cols[1]), Why: cols[2]})
		default:
			err = fmt.Errorf("no section %q has rows of %d columns; there are core (package, what it does), budget (lines), support (package, what it does) and modules (what, who, why)", section, len(cols))
		}
		return err
	})
}

// CheckCore holds the trusted core to its budget, and to few imports. A reader of the
// core has to read or believe whatever it imports.
func CheckCore(core *Core, tree fs.FS, files []File, goMod string) ([]Fault, error) {
	sum, err := core.Lines(tree, files)
	if err != nil {
		return nil, err
	}
	c := &checker{module: moduleName(goMod)}
	for _, row := range core.Packages {
		if !slices.ContainsFunc(files, func(f File) bool { return f.Package() == row.Path }) {
			c.fault("core.txt", row.Line, "core", "%s does not exist. Delete the row, or name what took its place.", row.Path)
		}
	}
	if sum > core.Budget {
		c.fault("core.txt", core.BudgetLine, "core", "the trusted core has %d lines of code, %d more than its budget. Move what cannot let a command run undecided, escape, survive or go unrecorded to another package, or raise the budget and give the reason in the commit.", sum, sum-core.Budget)
	}
	for i := range files {
		f := &files[i]
		if f.Test || !core.has(f.Package()) && !contains(core.Support, f.Package()) {
			continue
		}
		for _, use := range f.Uses {
			if use.Name == "" {
				c.coreImport(core, f, use.Path, use.Line)
			}
		}
	}
	return c.faults, nil
}

// Lines counts the lines of code of the core's packages, tests aside, for all systems.
func (core *Core) Lines(tree fs.FS, files []File) (int, error) {
	sum := 0
	for i := range files {
		f := &files[i]
		if f.Test || !core.has(f.Package()) || path.Ext(f.Path) != ".go" {
			continue
		}
		src, err := fs.ReadFile(tree, f.Path)
		if err != nil {
			return 0, err
		}
		sum += codeLines(src)
	}
	return sum, nil
}

func (core *Core) has(pkg string) bool { return contains(core.Packages, pkg) }

func contains(rows []Row, pkg string) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Path == pkg })
}

func (c *checker) coreImport(core *Core, f *File, imported string, line int) {
	pkg := f.Package()
	if inner, ok := strings.CutPrefix(imported, c.module); ok && (inner == "" || inner[0] == '/') {
		if inner = strings.TrimPrefix(inner, "/"); inner == "" {
			inner = "."
		}
		if !core.has(inner) && !contains(core.Support, inner) && core.has(pkg) {
			c.fault(f.Path, line, "core", "%s is in the trusted core and imports %s, which is not. Take the value as an argument, or add a row to the section support of core.txt and give the reason in the commit.", pkg, inner)
		}
		return
	}
	allowed := slices.ContainsFunc(core.Modules, func(o Owner) bool {
		return o.matches(Use{Path: imported}) && (slices.Contains(o.By, "any") || slices.Contains(o.By, pkg))
	})
	if c.foreign(imported) && !allowed {
		c.fault(f.Path, line, "core", "%s is in the trusted core or supports it, and imports %s. Do without that module, or add a row to the section modules of core.txt with a reason.", pkg, imported)
	}
}
