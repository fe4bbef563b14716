package policy_test

import (
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
)

// variable is a row of testdata/environment.
type variable struct{ name, value, why string }

func variables(t *testing.T, file string) []variable {
	t.Helper()
	data, err := os.ReadFile("testdata/environment/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []variable
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndex(line, "  ")
		name, value, ok := strings.Cut(line[:max(i, 0)], "=")
		if !ok {
			t.Fatalf("%s: %q", file, line)
		}
		all = append(all, variable{name, value, line[i+2:]})
	}
	return all
}

// half divides the names into two halves by chance: one by which the tables
// were written, and one that was held back until they were.
func half(name string) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	if h.Sum32()%2 == 0 {
		return "developed"
	}
	return "held back"
}

// reaches reports whether a caller's variable reaches a command in /work, and
// what the caller is told if it does not.
func reaches(t *testing.T, v variable) bool {
	t.Helper()
	w := allowing("env")
	req := tipstaff.Request{Family: tipstaff.Terminal, Argv: []string{"env"}, Env: []string{v.name + "=" + v.value}}
	d := policy.New(server()).Decide(req, w)
	grant, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	defer grant.Close()
	return len(grant.Dropped()) == 0
}
func TestLists(t *testing.T) {
	for _, file := range []string{"code.txt", "honest.txt"} {
		count := map[string]int{}
		for _, v := range variables(t, file) {
			h := half(v.name)
			count[h+" all"]++
			if reaches(t, v) != (file == "honest.txt") {
				count[h+" wrong"]++
				if os.Getenv("SHOW") == h || os.Getenv("SHOW") == "all" {
					t.Logf("%s %s=%s: %s", file, v.name, v.value, v.why)
				}
			}
		}
		t.Log(file, count)
	}
}
