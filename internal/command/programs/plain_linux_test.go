package programs

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// starters are the functions of the C library that start programs or load code.
var starters = []string{"execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "system", "popen", "posix_spawn", "posix_spawnp", "wordexp", "dlopen"}

// TestPlainProgramsCannotStartOthers: table/plain.txt said of 341 programs that
// their arguments start nothing, and diff3, sdiff, csvtool and lcov do. What it
// says of a program is read from the program itself, where this machine has it;
// the others were looked up in their manuals, and stand in a section that says so.
func TestPlainProgramsCannotStartOthers(t *testing.T) {
	text, err := tableFiles.ReadFile("table/plain.txt")
	if err != nil {
		t.Fatal(err)
	}
	measured, _, ok := strings.Cut(string(text), "# plain by manual")
	if !ok {
		t.Fatal("the section by manual is missing")
	}
	read := 0
	for line := range strings.Lines(measured) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.FieldsSeq(line) {
			path, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			if path, err = filepath.EvalSymlinks(path); err != nil {
				t.Fatal(err)
			}
			file, err := elf.Open(path)
			if base := filepath.Base(path); base == "busybox" || base == "coreutils" || base == "toybox" {
				continue // one program under many names
			}
			if err != nil {
				t.Errorf("%s is no binary, so it cannot be measured; look its manual up", name)
				continue
			}
			symbols, err := file.ImportedSymbols()
			_ = file.Close()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, s := range symbols {
				if slices.Contains(starters, s.Name) {
					t.Errorf("%s imports %s: it may start programs, so it needs rows", name, s.Name)
				}
			}
			read++
		}
	}
	if read < 50 {
		t.Errorf("only %d programs could be read", read)
	}
}

// TestOneWhoStartsOthersIsNoticed is the control: diff3 imports execvp.
func TestOneWhoStartsOthersIsNoticed(t *testing.T) {
	path, err := exec.LookPath("diff3")
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.ImportedSymbols()
	if err != nil || !slices.ContainsFunc(symbols, func(s elf.ImportedSymbol) bool { return slices.Contains(starters, s.Name) }) {
		t.Errorf("diff3 imports nothing that starts programs: %v", err)
	}
}
