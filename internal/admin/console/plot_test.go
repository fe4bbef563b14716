package console

import (
	"math"
	"strconv"
	"testing"
	"time"
)

func minuteEdges(n int) (edges []time.Time) {
	for i := range n + 1 {
		edges = append(edges, time.Date(2026, 1, 2, 3, i, 0, 0, time.Local))
	}
	return edges
}

func drawn(values ...[]int64) plot {
	s := series{ID: "x", Title: "Commands", Show: grouped[int64], Scale: countScale, Values: values}
	for i := range values {
		s.Parts = append(s.Parts, plotPart{"part " + strconv.Itoa(i), "bar-run"})
	}
	return draw(s, minuteEdges(len(values[0])), "15:04", 1)
}

func TestAPlotHasAColumnForEachBucketOnAnAxisThatHoldsIt(t *testing.T) {
	p := drawn([]int64{0, 3, 10, 1}, []int64{0, 1, 5, 0})
	if got := p.Ticks; got[0] != "20" || got[1] != "10" || got[2] != "0" {
		t.Errorf("ticks %q", got)
	}
	if len(p.Columns) != 4 || p.Empty || p.Times[0] != "03:00" || p.Times[1] != "03:04" {
		t.Errorf("%+v", p)
	}
	if c := p.Columns[2]; c.When != "03:02" || c.Bars[0].H != "100.00" || c.Bars[0].Y != "100.00" || c.Bars[1].H != "50.00" || c.Bars[1].Y != "50.00" || c.Cells[0] != "10" || c.Cells[1] != "5" {
		t.Errorf("%+v", c)
	}
	if p.Summary != "Commands: 20 in all, at most 15 in one column." {
		t.Error(p.Summary)
	}
}

func TestAPlotOfNothingAndOfOneNumber(t *testing.T) {
	if p := drawn([]int64{0, 0}); !p.Empty {
		t.Errorf("%+v", p)
	}
	p := drawn([]int64{1})
	if p.Empty || p.Columns[0].Bars[0].H != "100.00" || p.Ticks[0] != "2" {
		t.Errorf("%+v", p)
	}
	// What is there can be seen, and nothing leaves the picture.
	p = drawn([]int64{1, math.MaxInt64 / 4}, []int64{1, math.MaxInt64 / 4})
	for _, c := range p.Columns {
		for _, b := range c.Bars {
			h, _ := strconv.ParseFloat(b.H, 64)
			y, _ := strconv.ParseFloat(b.Y, 64)
			if h < 2 || h > plotHeight || y < 0 || y+h > plotHeight+0.01 {
				t.Errorf("%+v", b)
			}
		}
	}
}

func TestAxesEndAtRoundNumbersOfTheirUnit(t *testing.T) {
	for _, c := range []struct {
		scale     func(int64) int64
		show      func(int64) string
		most      int64
		top, half string
	}{
		{countScale, grouped[int64], 0, "2", "1"},
		{countScale, grouped[int64], 37, "40", "20"},
		{countScale, grouped[int64], 4100, "6\u202f000", "3\u202f000"},
		{byteScale, shownBytes, 500, "600 B", "300 B"},
		{byteScale, shownBytes, 700, "2.0 KiB", "1.0 KiB"},
		{byteScale, shownBytes, 3_000_000, "4.0 MiB", "2.0 MiB"},
		{timeScale, shownMillis, 0, "10 ms", "5 ms"},
		{timeScale, shownMillis, 1500, "2 s", "1 s"},
		{timeScale, shownMillis, 310_000, "10 min", "5 min"},
		{timeScale, shownMillis, 3_000_000, "2 h", "1 h"},
	} {
		top := c.scale(c.most)
		if top < c.most || c.show(top) != c.top || c.show(top/2) != c.half {
			t.Errorf("%d: %s, %s; want %s, %s", c.most, c.show(top), c.show(top/2), c.top, c.half)
		}
	}
}

func TestARankingHasTheLargestAndSaysWhatIsLeft(t *testing.T) {
	var counts []nameCount
	for i := range 15 {
		counts = append(counts, nameCount{"n" + strconv.Itoa(i), int64(100 - i)})
	}
	r := rank(ranking{}, counts, grouped[int64], func(name string) string { return "/" + name })
	if len(r.Rows) != mostRanked || r.Rows[0].Length != "100.00" || r.Rows[1].Link != "/n1" || r.More != "5 more, 440 together" {
		t.Errorf("%+v", r)
	}
	if r := rank(ranking{}, []nameCount{{"", 0}}, grouped[int64], func(string) string { return "/" }); r.Rows[0].Length != "0" || r.Rows[0].Link != "" {
		t.Errorf("%+v", r)
	}
}

func TestADayHasAsManyHoursAsItHas(t *testing.T) {
	for _, w := range windows() {
		now := time.Now()
		edges := w.edges(now)
		if len(edges) != w.buckets+1 || !edges[w.buckets].After(now) || edges[w.buckets-1].After(now) || w.buckets%w.labels != 0 {
			t.Errorf("%s: %d edges, the last ones %v", w.Name, len(edges), edges[len(edges)-2:])
		}
	}
}
