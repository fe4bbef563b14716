package console

import (
	"fmt"
	"math"
	"time"
)

// plot is a picture of numbers over time: a column for each bucket. The picture
// stretches with the page, and its labels are text of the page, so that they are
// as large on a telephone as on a wall.
type plot struct {
	ID, Title string
	// Parts stand on each other in a column, each with a pattern of its own.
	Parts   []plotPart
	Columns []plotColumn
	Ticks   []string // of the vertical axis, from the top down
	Times   []string // of the horizontal axis, evenly spaced from edge to edge
	Summary string   // the plot in a sentence
	Empty   bool     // all numbers are 0
}

type plotPart struct{ Name, Class string }

type plotColumn struct {
	When  string
	X, W  string // of the column, in a picture of plotWidth by plotHeight
	Bars  []plotBar
	Cells []string // the numbers, for the table
}

type plotBar struct{ Class, Y, H string }

// The picture's own units.
const (
	plotWidth  = 1000.0
	plotHeight = 200.0
)

// series is what a plot shows: a number of each part for each bucket.
type series struct {
	ID, Title string
	Parts     []plotPart
	Values    [][]int64 // by part, then by bucket
	Show      func(int64) string
	Scale     func(most int64) (top int64)
}

// draw makes the plot of a series whose buckets lie between edges.
func draw(s series, edges []time.Time, timeLayout string, labels int) plot {
	p := plot{ID: s.ID, Title: s.Title, Parts: s.Parts}
	n := len(edges) - 1
	var most, total int64
	for i := range n {
		var sum int64
		for _, v := range s.Values {
			sum += v[i]
		}
		most, total = max(most, sum), total+sum
	}
	p.Empty = total == 0
	top := s.Scale(most)
	for _, part := range []int64{top, top / 2, 0} {
		p.Ticks = append(p.Ticks, s.Show(part))
	}
	width := plotWidth / float64(n)
	for i := range n {
		c := plotColumn{When: edges[i].Local().Format(timeLayout), X: number(float64(i)*width + width*0.1), W: number(width * 0.8)}
		at := plotHeight
		for j, v := range s.Values {
			h := plotHeight * float64(v[i]) / float64(top)
			if v[i] > 0 {
				h = math.Max(h, 2) // what is there can be seen
			}
			at -= h
			c.Bars = append(c.Bars, plotBar{s.Parts[j].Class, number(math.Max(at, 0)), number(h)})
			c.Cells = append(c.Cells, s.Show(v[i]))
		}
		p.Columns = append(p.Columns, c)
	}
	for i := range labels + 1 {
		p.Times = append(p.Times, edges[i*n/labels].Local().Format(timeLayout))
	}
	p.Summary = fmt.Sprintf("%s: %s in all, at most %s in one column.", s.Title, s.Show(total), s.Show(most))
	return p
}

func number(f float64) string { return fmt.Sprintf("%.2f", f) }

// A scale returns the end of an axis that holds most and whose half is a round
// number, too.

// countScale is for numbers: 2, 4, 6, 10, 20, 40 …
func countScale(most int64) int64 { return topOf(most, 1) }

// byteScale is for bytes, in the units of [shownBytes].
func byteScale(most int64) int64 {
	unit := int64(1)
	for unit < 1<<50 && most > 600*unit {
		unit <<= 10
	}
	return topOf(most, unit)
}

// timeScale is for milliseconds, in the units of [shownMillis].
func timeScale(most int64) int64 {
	for _, top := range []int64{10, 20, 40, 100, 200, 400, 1000, 2000, 4000, 10_000, 20_000, 40_000} {
		if top >= most {
			return top
		}
	}
	const minute, hour = 60_000, 3_600_000
	for _, top := range []int64{2 * minute, 4 * minute, 10 * minute, 20 * minute, 40 * minute} {
		if top >= most {
			return top
		}
	}
	return topOf(most, hour)
}

func topOf(most, unit int64) int64 {
	for scale := unit; scale < math.MaxInt64/100; scale *= 10 {
		for _, step := range []int64{2, 4, 6, 10} {
			if step*scale >= most {
				return step * scale
			}
		}
	}
	return math.MaxInt64
}

// ranking is a table of names with a bar each: the largest numbers of a kind.
type ranking struct {
	ID, Title, Name, Number string
	Rows                    []rankingRow
	More                    string // what is not shown
	Nothing                 string // what to say if there are no rows
}

type rankingRow struct {
	Name   string
	Link   string
	Value  string
	Length string // of the bar, in hundredths
}

// mostRanked is how many rows a ranking has.
const mostRanked = 10

// rank makes a ranking of counts.
func rank(r ranking, counts []nameCount, show func(int64) string, link func(name string) string) ranking {
	rest := int64(0)
	for i, c := range counts {
		if i >= mostRanked {
			rest += c.n
			continue
		}
		row := rankingRow{Name: c.name, Value: show(c.n), Length: "0"}
		if counts[0].n > 0 {
			row.Length = number(math.Max(100*float64(c.n)/float64(counts[0].n), 0.5))
		}
		if link != nil && c.name != "" {
			row.Link = link(c.name)
		}
		r.Rows = append(r.Rows, row)
	}
	if more := len(counts) - mostRanked; more > 0 {
		r.More = fmt.Sprintf("%s more, %s together", grouped(int64(more)), show(rest))
	}
	return r
}

type nameCount struct {
	name string
	n    int64
}
