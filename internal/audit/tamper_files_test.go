package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// tamperWithFiles removes, empties, cuts, moves and replaces files of records.
func tamperWithFiles(g *ground) (all []tampering) {
	add := func(name, of string, reason Reason, do func(a *attack)) {
		all = append(all, tampering{name: name, of: of, do: do, alone: reason, whole: reason})
	}
	for i := 1; i <= 3; i++ {
		name, last := segmentFile(i), i == 3
		gone, cut := Missing, Torn
		if last {
			gone, cut = CutOff, CutOff
		}
		add(fmt.Sprintf("file %d removed", i), g.server, gone, func(a *attack) { a.remove(name) })
		add(fmt.Sprintf("file %d emptied", i), g.server, gone, func(a *attack) { a.write(name, nil) })
		add(fmt.Sprintf("file %d cut off at a line", i), g.server, gone, func(a *attack) {
			data := a.read(name)
			a.write(name, data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1])
		})
		add(fmt.Sprintf("file %d cut off in a line", i), g.server, cut, func(a *attack) {
			data := a.read(name)
			a.write(name, data[:len(data)-9])
		})
		add(fmt.Sprintf("a directory in the place of file %d", i), g.server, gone, func(a *attack) {
			a.remove(name)
			a.must(os.Mkdir(a.path(name), 0o700))
		})
		add(fmt.Sprintf("file %d is a link to a device", i), g.server, NoFile, func(a *attack) {
			a.remove(name)
			a.must(os.Symlink("/dev/zero", a.path(name)))
		})
	}
	add("two files changed places", g.server, Reordered, func(a *attack) {
		one, two := a.read(segmentFile(1)), a.read(segmentFile(2))
		a.write(segmentFile(1), two)
		a.write(segmentFile(2), one)
	})
	add("a file of another trail", g.server, Inserted, func(a *attack) {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(a.dir), g.killed, segmentFile(1)))
		a.must(err)
		a.write(segmentFile(2), data)
	})
	add("a killed server's last line is torn", g.killed, Contradicted, func(a *attack) {
		names := a.segments()
		name := names[len(names)-1]
		data := a.read(name)
		a.write(name, data[:len(data)-9])
	})
	all[len(all)-1].alone, all[len(all)-1].tornAlone = Torn, true
	return append(all, tampering{
		name: "a death in the middle of a line", of: g.killed, alone: Torn, whole: Torn, tornAlone: true, tornWhole: true,
		do: func(a *attack) {
			names := a.segments()
			a.add(names[len(names)-1], `{"v":1,"seq":146,"time`)
		},
	}, tampering{
		name: "a killed server's file before the last is torn", of: g.killed, alone: Torn, whole: Torn,
		do: func(a *attack) {
			data := a.read(segmentFile(1))
			a.write(segmentFile(1), data[:len(data)-9])
		},
	})
}

// tamperWithCheckpoints changes the signed statements.
func tamperWithCheckpoints(g *ground) (all []tampering) {
	add := func(name string, reason Reason, do func(a *attack)) {
		all = append(all, tampering{name: name, of: g.server, do: do, alone: reason, whole: reason})
	}
	for i := range 4 {
		add(fmt.Sprintf("checkpoint %d taken away from between", i), MissingMark, func(a *attack) { a.putNotes(slices.Delete(a.notes(), i, i+1)) })
	}
	add("a checkpoint doubled", MissingMark, func(a *attack) { n := a.notes(); a.putNotes(slices.Insert(n, 2, n[1])) })
	add("two checkpoints changed places", MissingMark, func(a *attack) { n := a.notes(); n[1], n[2] = n[2], n[1]; a.putNotes(n) })
	add("only the last checkpoint is left", MissingMark, func(a *attack) { n := a.notes(); a.putNotes(n[len(n)-1:]) })
	for what, change := range map[string][2]string{
		"number of records": {"\n151\n", "\n150\n"}, "trail": {"tipstaff-audit/2026", "tipstaff-audit/2025"}, "time": {"\ntime 2026", "\ntime 2027"},
		"number": {"\nmark ", "\nmark 1"}, "end": {"\nend closed", "\nend sealed"}, "signature": {"\n— tipstaff-audit ", "\n— tipstaff-audit A"},
	} {
		add("the "+what+" of a checkpoint changed", BadCheckpoint, func(a *attack) { a.changeNote(change[0], change[1]) })
	}
	add("a checkpoint of another trail behind", BadCheckpoint, func(a *attack) { a.putNotes(append(a.notes(), g.kept[g.run])) })
	add("the checkpoints of another trail", BadCheckpoint, func(a *attack) {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(a.dir), g.killed, checkpointsFile))
		a.must(err)
		a.write(checkpointsFile, data)
	})
	add("half a checkpoint behind the end", BadCheckpoint, func(a *attack) { a.add(checkpointsFile, "tipstaff-audit/2026") })
	add("noise before the checkpoints", BadCheckpoint, func(a *attack) { a.write(checkpointsFile, append([]byte("noise\n"), a.read(checkpointsFile)...)) })
	add("the checkpoints emptied", NoCheckpoint, func(a *attack) { a.write(checkpointsFile, nil) })
	add("the checkpoints removed", NoCheckpoint, func(a *attack) { a.remove(checkpointsFile) })
	add("the checkpoints and the key removed", NoCheckpoint, func(a *attack) { a.remove(checkpointsFile, trailKeyFile) })
	add("a directory in the place of the checkpoints", NoFile, func(a *attack) {
		a.remove(checkpointsFile)
		a.must(os.Mkdir(a.path(checkpointsFile), 0o700))
	})
	add("the checkpoints are a link to a device", NoFile, func(a *attack) {
		a.remove(checkpointsFile)
		a.must(os.Symlink("/dev/zero", a.path(checkpointsFile)))
	})
	for i := range all { // what cannot be believed says nothing that could be contradicted
		if all[i].alone == NoCheckpoint {
			all[i].whole = Contradicted
		}
	}
	return all
}

// tamperWithKeys replaces what the checkpoints are held to.
func tamperWithKeys(g *ground) (all []tampering) {
	add := func(name string, reason Reason, do func(a *attack)) {
		all = append(all, tampering{name: name, of: g.server, do: do, alone: reason, whole: reason})
	}
	add("the trail's key removed", BadCheckpoint, func(a *attack) { a.remove(trailKeyFile) })
	add("the trail's key emptied", BadCheckpoint, func(a *attack) { a.write(trailKeyFile, nil) })
	add("the trail's key is noise", BadCheckpoint, func(a *attack) { a.write(trailKeyFile, []byte("noise")) })
	add("the trail's key is a link to a device", NoFile, func(a *attack) {
		a.remove(trailKeyFile)
		a.must(os.Symlink("/dev/zero", a.path(trailKeyFile)))
	})
	add("another key, and all signed anew", ForeignKey, func(a *attack) {
		k, _, err := newKey()
		a.must(err)
		a.write(trailKeyFile, []byte(k.Public))
		c, err := parseCheckpoint(noteText(a.notes()[0]))
		a.must(err)
		signed, err := c.sign(k.signer)
		a.must(err)
		a.putNotes([][]byte{signed})
	})
	add("another key, which says that it follows the lost one", ForeignKey, func(a *attack) {
		k, _, err := newKey()
		a.must(err)
		a.write(trailKeyFile, []byte(k.Public))
		r := rotation{old: g.key, fresh: k.Public}
		says, err := note.Sign(&note.Note{Text: r.text(time.Now(), "lost")}, k.signer)
		a.must(err)
		a.must(addStatement(filepath.Join(filepath.Dir(a.dir), keysDir, rotationsFile), says))
	})
	// Controls: what has no effect.
	harmless := func(name, of string, do func(a *attack)) { all = append(all, tampering{name: name, of: of, do: do}) }
	harmless("nothing at all", g.server, func(*attack) {})
	harmless("another file beside the records", g.server, func(a *attack) { a.write("notes.txt", []byte("x")) })
	harmless("all records in one file", g.server, func(a *attack) { a.put(a.lines()) })
	harmless("noise among the statements about keys", g.server, func(a *attack) {
		keys := &attack{a.t, filepath.Join(filepath.Dir(a.dir), keysDir), g}
		data := keys.read(rotationsFile)
		keys.write(rotationsFile, append([]byte("noise, and half a line"), append(data, strings.Repeat("tipstaff-audit key rotation\n", 40)...)...))
	})
	harmless("all records of a killed server in one file", g.killed, func(a *attack) { a.put(a.lines()) })
	harmless("half a checkpoint of a killed server", g.killed, func(a *attack) { a.add(checkpointsFile, "tipstaff-audit/2026") })
	return all
}
