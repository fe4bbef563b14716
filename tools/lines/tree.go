package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// kind is the sum that a line counts for.
type kind int

const (
	product kind = iota
	beside       // tests of the product's packages
	endToEnd
	other
	kinds
)

// lines are the lines of one package, by kind.
type lines [kinds]int

// outside returns the packages that the plan lists in its section "outside".
func outside(plan string) map[string]bool {
	found := map[string]bool{}
	in := false
	for line := range strings.Lines(plan) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case line[0] != ' ':
			in = fields[0] == "outside"
		case in:
			found[fields[0]] = true
		}
	}
	return found
}

// count reads all Go files below the root of tree, whatever their build tags, and
// returns the lines of each package.
func count(tree fs.FS, outside map[string]bool) (map[string]lines, error) {
	packages := map[string]lines{}
	modules := map[string]bool{} // directories that begin another module
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != ".":
			if skipped(d.Name()) {
				return fs.SkipDir
			}
			_, err := fs.Stat(tree, path.Join(p, "go.mod"))
			modules[p] = err == nil || modules[path.Dir(p)]
			return nil
		case d.IsDir() || path.Ext(p) != ".go":
			return nil
		}
		src, err := fs.ReadFile(tree, p)
		if err != nil || generated(src) {
			return err
		}
		pkg := path.Dir(p)
		sum := packages[pkg]
		sum[kindOf(p, outside[pkg] || modules[pkg])] += codeLines(src)
		packages[pkg] = sum
		return nil
	})
	return packages, err
}

func skipped(dir string) bool {
	return dir == "testdata" || dir == "vendor" || dir == "node_modules" || dir == ".git"
}

// kindOf returns the sum that a file counts for. The argument outside says that its
// package is no part of the program.
func kindOf(file string, outside bool) kind {
	test := strings.HasSuffix(file, "_test.go")
	switch {
	case test && strings.HasPrefix(file, "e2e/"):
		return endToEnd
	case outside || strings.HasPrefix(file, "."):
		return other
	case test:
		return beside
	}
	return product
}

// generated reports whether a file says by Go's convention that a program wrote it.
func generated(src []byte) bool {
	if !strings.Contains(string(src), "DO NOT EDIT") {
		return false
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ParseComments|parser.PackageClauseOnly)
	return err == nil && ast.IsGenerated(file)
}
