package audit

import (
	"bytes"
	"fmt"
	"slices"
)

// tamperWithRecords changes single records of a closed trail, and of one whose server
// was killed: at its beginning, in the middle, where one file follows another, and at
// its end.
func tamperWithRecords(g *ground) (all []tampering) {
	for _, n := range []int{1, 2, 75, 150, 151} {
		next, behind, missing := Replaced, Forged, Missing
		switch n {
		case 150: // what a checkpoint covers last
			next = Forged
		case 151: // the end itself
			next, behind, missing = BehindEnd, BehindEnd, CutOff
		}
		at := func(name string, reason Reason, do func(l [][]byte) [][]byte) {
			all = append(all, tampering{
				name: fmt.Sprintf("record %d %s", n, name), of: g.server,
				do: func(a *attack) { a.edit(do) }, alone: reason, whole: reason,
			})
		}
		at("altered", Altered, func(l [][]byte) [][]byte {
			l[n-1] = bytes.Replace(l[n-1], []byte(`"event":"`), []byte(`"event":"x`), 1)
			return l
		})
		at("altered and hashed anew", next, func(l [][]byte) [][]byte { l[n-1] = relink(l[n-1], forged); return l })
		at("deleted", missing, func(l [][]byte) [][]byte { return slices.Delete(l, n-1, n) })
		at("doubled", Inserted, func(l [][]byte) [][]byte { return slices.Insert(l, n, l[n-1]) })
		at("and all behind it chained anew", behind, func(l [][]byte) [][]byte { return rechain(l, n, forged) })
		at("and all behind it cut off", CutOff, func(l [][]byte) [][]byte { return l[:n-1] })
		if n < 151 {
			at("changed places with the next", Reordered, func(l [][]byte) [][]byte { l[n-1], l[n] = l[n], l[n-1]; return l })
		}
		at("became noise", NotJSON, func(l [][]byte) [][]byte { l[n-1] = []byte("noise\n"); return l })
	}
	for _, n := range []int{1, 60} { // before the last checkpoint
		all = append(all, tampering{
			name: fmt.Sprintf("record %d of a killed server and all behind it chained anew", n), of: g.killed,
			do: func(a *attack) { a.edit(func(l [][]byte) [][]byte { return rechain(l, n, forged) }) }, alone: Forged, whole: Forged,
		})
	}
	// What no checkpoint covers is chained only, until another trail speaks of it.
	return append(all,
		tampering{
			name: "the last record of a killed server chained anew", of: g.killed,
			do: func(a *attack) { a.edit(func(l [][]byte) [][]byte { return rechain(l, len(l), forged) }) }, whole: Contradicted,
		},
		tampering{
			name: "the last record of a killed server cut off", of: g.killed,
			do: func(a *attack) { a.edit(func(l [][]byte) [][]byte { return l[:len(l)-1] }) }, whole: Contradicted,
		},
		tampering{
			name: "a record behind those of a killed server", of: g.killed,
			do: func(a *attack) { a.edit(func(l [][]byte) [][]byte { return forge(l, 1, forged) }) }, whole: Contradicted,
		},
		tampering{
			name: "an orderly end behind the records of a killed server", of: g.killed,
			do: func(a *attack) { a.edit(func(l [][]byte) [][]byte { return forge(l, 1, forgedStop) }) }, alone: Unclosed, whole: Contradicted,
		},
		tampering{
			name: "many records behind those of a killed server", of: g.killed,
			do: func(a *attack) { a.edit(func(l [][]byte) [][]byte { return forge(l, 400, forged) }) }, alone: Unsigned, whole: Contradicted,
		},
	)
}
