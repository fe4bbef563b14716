package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

var one = release{Root: "..", Version: "1.2.3-rc.1", Commit: strings.Repeat("a", 40), Date: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)}

// held holds a value to a JSON schema.
func held(t *testing.T, schemaFile string, v any) error {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	return resolved.Validate(plain)
}

// TestTheRegistryTakesTheEntry, by its own schema (testdata/server.schema.json, from
// the registry's repository, MIT licence); and an entry without a name it does not.
func TestTheRegistryTakesTheEntry(t *testing.T) {
	entry := serverJSON(one)
	if err := held(t, "testdata/server.schema.json", entry); err != nil {
		t.Error(err)
	}
	if name := entry["description"].(string); len(name) > 100 {
		t.Error("the registry takes 100 characters of description")
	}
	delete(entry, "name")
	if held(t, "testdata/server.schema.json", entry) == nil {
		t.Error("the schema takes everything")
	}
}

func TestArchivesAreTheSameInAnyOrder(t *testing.T) {
	list := []entry{{"b", 0o755, []byte("x")}, {"a/", os.ModeDir | 0o755, nil}, {"a/c", 0o644, bytes.Repeat([]byte("y"), 9999)}}
	back := []entry{list[2], list[0], list[1]}
	for name, write := range map[string]func(*bytes.Buffer, []entry) error{
		"tar": func(b *bytes.Buffer, l []entry) error { return tarball(b, l, one.Date) },
		"zip": func(b *bytes.Buffer, l []entry) error { return zipped(b, l, one.Date) },
	} {
		var first, second bytes.Buffer
		if err := write(&first, list); err != nil {
			t.Fatal(err)
		}
		if err := write(&second, back); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: the order of the files shows", name)
		}
	}
}

func TestOnlyReleasedPlatformsAndSemanticVersions(t *testing.T) {
	if list, err := chosen("linux/amd64,windows/arm64"); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	for _, bad := range []string{"linux", "plan9/amd64", "linux/amd64,", "all"} {
		if list, err := chosen(bad); err == nil {
			t.Errorf("%q: %v", bad, list)
		}
	}
	for version, want := range map[string]bool{"1.2.3": true, "1.2.3-rc.1": true, "v1.2.3": false, "1.2": false, "": false, "1.2.3; rm": false} {
		if semantic.MatchString(version) != want {
			t.Errorf("%q: %t", version, !want)
		}
	}
}

// TestADirectoryWithOtherFilesIsLeftAlone: what a run writes into is emptied
// before.
func TestADirectoryWithOtherFilesIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tipstaff_1.deb", "server.json", "thesis.tex"} {
		if err := os.WriteFile(dir+"/"+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := emptied(dir); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Error(err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 3 {
		t.Error("something was removed")
	}
}
