package console

import (
	"net/http/httptest"
	"testing"
)

// BenchmarkNow: what the page costs the console without the look at the servers, for
// 200 sessions and 50 commands.
func BenchmarkNow(b *testing.B) {
	pages, err := newSheets()
	if err != nil {
		b.Fatal(err)
	}
	s := &Server{sheets: pages, entrance: newEntrance()}
	looked := seen{overview: crowd(200, 50)}
	r := httptest.NewRequest("GET", "/now", nil)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		if err := s.show(w, r, view{Page: "now", Title: "Now", Here: "/now", Data: overviewOf(looked)}); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(w.Body.Len()))
	}
}
