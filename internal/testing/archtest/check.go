package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Fault is one place where the code differs from the plan.
type Fault struct {
	File string
	Line int
	Rule string // plan, floors, groups, owners, pure, modules
	Say  string // what was found, and what to do
}

func (f Fault) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Say) }

// Check compares the files of the module with its plan. goMod is the text of go.mod.
func Check(plan *Plan, files []File, goMod string) []Fault {
	c := &checker{plan: plan, module: moduleName(goMod)}
	c.built(files)
	for i := range files {
		pkg, ok := plan.Package(files[i].Package())
		if !ok {
			continue // reported by built
		}
		for _, use := range files[i].Uses {
			c.use(&files[i], pkg, use)
		}
	}
	c.groups(files)
	c.modules(goMod)
	return c.faults
}

type checker struct {
	plan   *Plan
	module string
	faults []Fault
}

func (c *checker) fault(file string, line int, rule, format string, args ...any) {
	c.faults = append(c.faults, Fault{file, line, rule, fmt.Sprintf(format, args...)})
}

// built checks that the packages that exist are exactly those that the plan
// calls built.
func (c *checker) built(files []File) {
	built := map[string]bool{}
	for _, f := range files {
		p := f.Package()
		if _, known := c.plan.Package(p); !known && !built[p] {
			c.fault(f.Path, 1, "plan", "the package %s is not in floors.txt. Give it a row: the floor above everything that it imports, and a few words that say what it does.", p)
		}
		built[p] = true
	}
	for _, r := range c.plan.Packages {
		switch {
		case r.Later && built[r.Path]:
			c.fault("floors.txt", r.Line, "plan", "%s is built. Take the word \"later:\" away.", r.Path)
		case !r.Later && !built[r.Path]:
			c.fault("floors.txt", r.Line, "plan", "%s does not exist. Write it, mark it \"later:\", or delete the row.", r.Path)
		}
	}
}

func (c *checker) use(f *File, pkg Package, use Use) {
	if use.Name == "." {
		c.fault(f.Path, use.Line, "owners", "the dot import of %s hides which names are used. Import it by its name.", use.Path)
	}
	if use.Path == c.module || strings.HasPrefix(use.Path, c.module+"/") {
		if use.Name == "" {
			c.inward(f, pkg, use)
		} else {
			c.owned(f, pkg, use) // some packages of the module are reserved to one user, too
		}
		return
	}
	c.owned(f, pkg, use)
	if pkg.Pure && !f.Test {
		c.pure(f, pkg, use)
	}
}

// inward checks that imports within the module go down, and that no package of
// the plan's floors imports one outside of them.
func (c *checker) inward(f *File, from Package, use Use) {
	path := "."
	if use.Path != c.module {
		path = strings.TrimPrefix(use.Path, c.module+"/")
	}
	to, ok := c.plan.Package(path)
	switch {
	case path == from.Path: // the external test of a package
	case !ok:
		c.fault(f.Path, use.Line, "plan", "imports %s, which is not in floors.txt. Give it a row.", path)
	case from.Floor == outside:
	case to.Floor == outside && !f.Test:
		c.fault(f.Path, use.Line, "floors", "imports %s, which stands outside of the house. Only tests may.", path)
	case to.Floor == outside:
	case to.Floor >= from.Floor:
		c.fault(f.Path, use.Line, "floors", "%s (floor %d) imports %s (floor %d), but imports go down, never sideways and never up. Declare here the smallest interface that does, and let a higher floor hand in what satisfies it; or move what both need to a lower floor.", from.Path, from.Floor, path, to.Floor)
	case from.Pure && !to.Pure && !f.Test:
		c.fault(f.Path, use.Line, "pure", "%s is pure and imports %s, which is not. Take the fact as an argument, or ask an interface that is declared here.", from.Path, path)
	}
}

// owned checks that dangerous and foreign packages are used only by their
// owners.
func (c *checker) owned(f *File, pkg Package, use Use) {
	foreign := c.foreign(use.Path)
	named := false
	for _, o := range c.plan.Owners {
		if !o.matches(use) {
			continue
		}
		named = true
		free := (f.Test || pkg.Floor == outside) && !foreign
		if free || o.owns(pkg.Path) || f.Test && slices.Contains(o.By, "tests") {
			continue
		}
		c.fault(f.Path, use.Line, "owners", "%s uses %s, which %s (floors.txt:%d: %s)", pkg.Path, use, o.advice(), o.Line, o.Why)
	}
	if foreign && !named && use.Name == "" {
		c.fault(f.Path, use.Line, "owners", "%s imports %s, which has no owner. A dependency has one owner package and a sentence of reason: add a row to floors.txt, or do without it.", pkg.Path, use.Path)
	}
}

// owns reports whether a package, or a folder around it that is written as folder/..., is
// among the owners.
func (o Owner) owns(pkg string) bool {
	return slices.ContainsFunc(o.By, func(by string) bool {
		folder, all := strings.CutSuffix(by, "/...")
		return by == pkg || all && strings.HasPrefix(pkg, folder+"/")
	})
}

func (o Owner) advice() string {
	if slices.Contains(o.By, "nobody") {
		return "nobody may use. Do without it, or change its row and give the reason."
	}
	return "belongs to " + strings.Join(o.By, ", ") + ". Ask the owner to do it, through a function that says what is meant."
}

// pure checks that pure packages get their facts from their callers.
func (c *checker) pure(f *File, pkg Package, use Use) {
	for _, o := range c.plan.Impure {
		if o.matches(use) {
			c.fault(f.Path, use.Line, "pure", "%s is pure and uses %s (%s). Take the fact as an argument, or ask an interface that is declared here.", pkg.Path, use, o.Why)
		}
	}
}

var requirement = regexp.MustCompile(`^(?:require\s+)?([^\s/]+\.[^\s/]+/\S+)\s+v\S+\s*(//.*)?$`)

// modules checks that every direct requirement has an owner, and that every
// foreign package with an owner comes from a requirement.
func (c *checker) modules(goMod string) {
	var required []string
	for i, line := range strings.Split(goMod, "\n") {
		m := requirement.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		module := m[1]
		required = append(required, module)
		if !strings.Contains(m[2], "indirect") && !c.anyOwned(func(pattern string) bool { return within(pattern, module) }) {
			c.fault("go.mod", i+1, "modules", "the module %s has no owner. Add a row to floors.txt that names its one owner and the reason, or do without it.", module)
		}
	}
	for _, o := range c.plan.Owners {
		for _, p := range o.Patterns {
			if c.foreign(p) && !slices.ContainsFunc(required, func(module string) bool { return within(p, module) }) {
				c.fault("floors.txt", o.Line, "modules", "%s has an owner, but go.mod requires no such module. Delete it from the row.", p)
			}
		}
	}
}

func (c *checker) anyOwned(is func(pattern string) bool) bool {
	return slices.ContainsFunc(c.plan.Owners, func(o Owner) bool { return slices.ContainsFunc(o.Patterns, is) })
}

// within reports whether a pattern matches packages of the module.
func within(pattern, module string) bool {
	return pattern == module || strings.HasPrefix(pattern, module+"/")
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+(\S+)`)

func moduleName(goMod string) string {
	if m := moduleLine.FindStringSubmatch(goMod); m != nil {
		return m[1]
	}
	return ""
}

// foreign reports whether an import path is in another module: of all others only the
// standard library has no dot in the first element. A pattern such as os.Getenv has a
// dot, but only one element.
func (c *checker) foreign(path string) bool {
	if path == c.module || strings.HasPrefix(path, c.module+"/") {
		return false
	}
	first, _, more := strings.Cut(path, "/")
	return more && strings.Contains(first, ".")
}

var singleName = regexp.MustCompile(`^(.*)\.([A-Z][^./]*)$`)

func (o Owner) matches(use Use) bool {
	return slices.ContainsFunc(o.Patterns, func(p string) bool {
		if below, ok := strings.CutSuffix(p, "/..."); ok {
			return use.Name == "" && (use.Path == below || strings.HasPrefix(use.Path, below+"/"))
		}
		if m := singleName.FindStringSubmatch(p); m != nil {
			return use.Path == m[1] && use.Name == m[2]
		}
		return use.Path == p && use.Name == ""
	})
}
