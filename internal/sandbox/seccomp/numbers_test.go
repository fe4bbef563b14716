package seccomp

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestTheTablesAreThoseOfTheKernel(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Fatalf("where is golang.org/x/sys/unix? %v", err)
	}
	constant := regexp.MustCompile(`(?m)^\s*SYS_(\w+)\s*=\s*(\d+)$`)
	for a, file := range map[Arch]string{AMD64: "zsysnum_linux_amd64.go", ARM64: "zsysnum_linux_arm64.go"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), file))
		if err != nil {
			t.Fatal(err)
		}
		calls, _ := tableOf(a)
		kernel := map[string]uint32{}
		for _, m := range constant.FindAllStringSubmatch(string(text), -1) {
			n, _ := strconv.ParseUint(m[2], 10, 32)
			if m[1] != "ARCH_SPECIFIC_SYSCALL" { // where a hole begins, no call
				kernel[strings.ToLower(m[1])] = uint32(n)
			}
		}
		for name, n := range kernel {
			if have, ok := calls[name]; !ok {
				t.Errorf("%s: %s = %d is new: decide about it, see numbers.go", file, name, n)
			} else if have != n {
				t.Errorf("%s: %s is %d, not %d", file, name, n, have)
			}
		}
		for name, n := range calls {
			if _, ok := kernel[name]; !ok {
				t.Errorf("%s does not have %s = %d", file, name, n)
			}
		}
	}
}

func TestNoNumberHasTwoNames(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		calls, _ := tableOf(a)
		names := map[uint32]string{}
		for name, n := range calls {
			if names[n] != "" {
				t.Errorf("%d is %s and %s", n, names[n], name)
			}
			names[n] = name
		}
	}
}
