package trailread

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tipstaff/internal/audit"
)

func TestWhatTipstaffWritesIsDecodedQuickly(t *testing.T) {
	records := some(9, 300)
	var full audit.Record
	fill(reflect.ValueOf(&full).Elem())
	records = append(records, full)
	text := contents(t, write(t, t.TempDir(), began(), time.Second, records...))
	var q quick
	for line := range bytes.SplitSeq(bytes.TrimSpace(text), []byte("\n")) {
		var got, want audit.Record
		if !q.canonical(line, &got) {
			t.Fatalf("quick.go gives up on %s\nIf package audit has a new member, give it a case there.", line)
		}
		if err := naiveDecode(line, &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s", line, d)
		}
	}
}

// fill gives every field a value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	}
}

func FuzzQuickIsWhatEncodingJSONMakesOfIt(f *testing.F) {
	for line := range bytes.SplitSeq(contents(f, write(f, f.TempDir(), began(), time.Second, some(3, 6)...)), []byte("\n")) {
		f.Add(line)
	}
	for _, line := range []string{`{"seq":1,"seq":-2}`, `{"seq":01}`, `{"v":null}`, `{"who":{}}`, `{"what":{"argv":[]}}`, `{"result":{"truncated":true},"result":{"cause":"x"}}`, `{"time":"2026-01-02T03:04:05+01:00"}`, "{\"why\":\"\xff\"}", `{"why":"\ud800"}`, `{"V":1}`, `{"v":1} `, `{"v":1,}`, `{"v":99999999999999999999}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var q quick
		var got, want audit.Record
		if !q.canonical(line, &got) {
			return
		}
		err := naiveDecode(line, &want)
		if err != nil && err != errNoRecord { //nolint:errorlint // it is returned as it is
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", line, d)
		}
	})
}
