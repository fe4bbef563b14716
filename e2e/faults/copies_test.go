//go:build linux && !race

package faults

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A stream has a record when it acknowledged the batch that holds it. Two things
// say that it did: the position that the copier keeps beside the trail, and, where
// a runner is strict, each command that started.

// copies holds the streams to what they acknowledged, and to the trails: nothing
// is lost there, nothing is there twice, and nothing that no trail has.
func (f *fleet) copies() {
	f.t.Helper()
	for _, m := range f.members() {
		local := f.local(m)
		copied := map[string]int{}
		for line := range bytes.Lines(f.exported(m)) {
			copied[string(bytes.TrimSpace(line))]++
		}
		twice, foreign := 0, 0
		for line, n := range copied {
			if n > 1 {
				twice++
			}
			if !local[line] {
				foreign++
			}
		}
		if twice > 0 || foreign > 0 {
			f.t.Errorf("the copy of %s has %d records twice, and %d that its trails have not", m.name(), twice, foreign)
		}
		if acknowledged := f.acknowledged(m); len(copied) < acknowledged {
			f.t.Errorf("%s was told that %d of its records are in the streams, and %d are", m.name(), acknowledged, len(copied))
		}
		f.t.Logf("%s: %d records, %d of them copied", m.name(), len(local), len(copied))
		if len(copied) < len(local) && !f.killed[m.name()] {
			f.t.Errorf("%s has ended well, with NATS there, and %d of its records were not copied", m.name(), len(local)-len(copied))
		}
		if m.strict {
			f.intents(m, copied)
		}
	}
}

// intents wants the intent of each command that a strict runner has started.
func (f *fleet) intents(m *member, copied map[string]int) {
	f.t.Helper()
	var all strings.Builder
	for line := range copied {
		all.WriteString(line)
	}
	missing := 0
	started := f.startedOn(m)
	for id := range started {
		if !strings.Contains(all.String(), id) {
			missing++
		}
	}
	if missing > 0 {
		f.t.Errorf("%s is strict, and %d of its %d commands were started without a record in the streams", m.name(), missing, len(started))
	}
}

// local are the records on the disk of a member.
func (f *fleet) local(m *member) map[string]bool {
	f.t.Helper()
	lines := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(m.state, "audit", "*", "*.jsonl"))
	must(f.t, err)
	if f.twin != nil && m == f.runners[0] { // it has copied its start and its end under this name
		more, err := filepath.Glob(filepath.Join(f.twin.state, "audit", "*", "*.jsonl"))
		must(f.t, err)
		files = append(files, more...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(f.t, err)
		for line := range bytes.Lines(data) {
			if bytes.HasSuffix(line, []byte("\n")) { // else it is torn
				lines[string(bytes.TrimSpace(line))] = true
			}
		}
	}
	return lines
}

// acknowledged is how many records the copiers of a member know to be copied.
func (f *fleet) acknowledged(m *member) (n int) {
	f.t.Helper()
	files, err := filepath.Glob(filepath.Join(m.state, "audit", "*", "shipped"))
	must(f.t, err)
	if len(files) == 0 {
		f.t.Errorf("%s copies no trail", m.name())
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(f.t, err)
		var state struct {
			Position struct{ Records int }
			Error    string
		}
		must(f.t, json.Unmarshal(data, &state))
		n += state.Position.Records
		if state.Error != "" {
			f.t.Errorf("%s: %s", file, state.Error)
		}
	}
	return n
}

// exported are the copies in the streams of one member, as an auditor reads them.
func (f *fleet) exported(m *member) []byte {
	f.t.Helper()
	cmd := exec.Command(f.bin, "audit", "export", "--engine", f.servers(), m.name())
	cmd.Env = append(f.shows("auditor"), "HOME="+f.dir, "PATH=/usr/bin:/bin", "TIPSTAFF_STATE_DIR="+filepath.Join(f.dir, "auditor-state"), "TIPSTAFF_ENGINE_CREDENTIALS="+filepath.Join(f.dir, "auditor.nk"))
	cmd.WaitDelay = time.Minute
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		f.t.Errorf("the copies of %s cannot be read: %v\n%s", m.name(), err, says.String())
	}
	return out
}
