package query_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
)

const elsewhere = "build-3/20260102T030406Z-1-00000000/"

func elsewhereLine(seq, at string) string {
	return `{"v":1,"seq":` + seq + `,"time":"2026-01-02T03:04:` + at + `.000000000Z","event":"command.end","what":{"argv":["echo","` + seq + `"]},"prev":"p","hash":"h"}` + "\n"
}

func TestTrailsInAnotherPlaceAreReadAndFollowedAsFilesAre(t *testing.T) {
	there := fstest.MapFS{
		elsewhere + "000001.jsonl":    {Data: []byte(elsewhereLine("1", "06") + elsewhereLine("2", "07"))},
		elsewhere + "000002.jsonl":    {Data: []byte(elsewhereLine("3", "08"))},
		elsewhere + "key.pub":         {Data: []byte("key")},
		"build-4/notes/readme":        {Data: []byte("no trail")},
		"build-4/copied/000001.jsonl": {Data: []byte(elsewhereLine("1", "09"))},
	}
	in := audit.Files{In: there}
	trails, err := query.FindIn(in, ".")
	if err != nil || len(trails) != 2 {
		t.Fatalf("%v, %v", trails, err)
	}
	seqs := func(filter *query.Filter) (got []string) {
		t.Helper()
		if _, err := query.Read(t.Context(), trails, filter, func(l *query.Line) error {
			got = append(got, l.Record.What.Argv[1])
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := seqs(&query.Filter{}); !slices.Equal(got, []string{"1", "2", "3", "1"}) {
		t.Errorf("all: %q", got)
	}
	if got := seqs(&query.Filter{Cmd: query.Word{Text: "2"}}); !slices.Equal(got, []string{"2"}) {
		t.Errorf("one: %q", got)
	}
	last, _, err := query.Last(t.Context(), trails, &query.Filter{}, 2)
	if err != nil || len(last) != 2 || last[0].Record.Seq != 3 || !strings.HasPrefix(last[0].Place.File, elsewhere) {
		t.Errorf("the last: %+v, %v", last, err)
	}
	w, err := query.Follow(in, ".", trails, &query.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	there[elsewhere+"000002.jsonl"] = &fstest.MapFile{Data: []byte(elsewhereLine("3", "08") + elsewhereLine("4", "10"))}
	var came []uint64
	if _, err := w.Poll(t.Context(), func(l *query.Line) error { came = append(came, l.Record.Seq); return nil }); err != nil || !slices.Equal(came, []uint64{4}) {
		t.Errorf("what came: %v, %v", came, err)
	}
}
