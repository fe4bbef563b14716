package retention

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/audit"
)

// task is what goes of one trail.
type task struct {
	trail string
	last  string // segment up to which it goes; "": the whole trail
	at    time.Time
	bytes int64

	archived bool // it lies in an archive as a whole
}

// Uncopied says what of a trail is to be copied to an engine and is not yet: from the
// given segment on; "": nothing.
type Uncopied func(trail string) (segment string)

// tasksOf returns what may go of a trail, in the order in which it may: sealed segments
// one after the other, and the trail as a whole if it has ended.
func tasksOf(s *audit.Inventory, uncopied Uncopied) (list []task) {
	if s.Archived {
		return nil
	}
	limit := ""
	if uncopied != nil {
		limit = uncopied(s.Trail)
	}
	for i, segment := range s.Segments {
		if i == len(s.Segments)-1 || limit != "" && segment.Name >= limit {
			break
		}
		list = append(list, task{trail: s.Trail, last: segment.Name, at: segment.Last, bytes: segment.Bytes})
	}
	if s.Ended && limit == "" {
		rest := s.Bytes
		for _, t := range list {
			rest -= t.bytes
		}
		list = append(list, task{trail: s.Trail, at: ended(s), bytes: rest})
	}
	return list
}

// ended is when a trail ended: the time of its last record, or of its start.
func ended(s *audit.Inventory) time.Time {
	if !s.Last.IsZero() {
		return s.Last
	}
	start, _, _ := strings.Cut(s.Trail, "-")
	at, _ := time.Parse("20060102T150405Z", start)
	return at
}

// plan says what goes of some trails, so that the bounds hold: what is too old, and
// then the oldest until the rest is small enough. Of each trail there is one task.
func plan(stocks []audit.Inventory, b Bounds, now time.Time, uncopied Uncopied) []task {
	if b.None() {
		return nil
	}
	var all []task
	var total int64
	for i := range stocks {
		total += stocks[i].Bytes
		all = append(all, tasksOf(&stocks[i], uncopied)...)
	}
	slices.SortStableFunc(all, func(a, b task) int { return a.at.Compare(b.at) })
	merged := map[string]int{}
	var out []task
	for _, t := range all {
		old := b.Age > 0 && now.Sub(t.at) > b.Age
		if !old && (b.Bytes == 0 || total <= b.Bytes) {
			break
		}
		total -= t.bytes
		if i, ok := merged[t.trail]; ok { // later in the same trail
			out[i].last, out[i].bytes = t.last, out[i].bytes+t.bytes
			continue
		}
		merged[t.trail] = len(out)
		out = append(out, t)
	}
	return out
}

// planAll is plan with what lies in archives, if that is to go.
func planAll(stocks []audit.Inventory, o Options, now time.Time) []task {
	tasks := plan(stocks, o.Trails, now, o.Uncopied)
	if !o.Archived || o.Trails.Age == 0 {
		return tasks
	}
	for i := range stocks {
		if s := &stocks[i]; s.Archived && now.Sub(ended(s)) > o.Trails.Age {
			tasks = append(tasks, task{trail: s.Trail, at: ended(s), bytes: s.Bytes, archived: true})
		}
	}
	return tasks
}

// fresh is how long a recording is left alone: it may just be written.
const fresh = time.Minute

// planRecordings says which recordings go, by trail. Ages are told by the time by.
func planRecordings(stocks []audit.Inventory, b Bounds, now, by time.Time) (trails []string, names map[string][]string) {
	if b.None() {
		return nil, nil
	}
	type file struct {
		trail string
		audit.StoredFile
	}
	var all []file
	var total int64
	for i := range stocks {
		for _, shelf := range stocks[i].Recordings {
			total += shelf.Bytes
			all = append(all, file{stocks[i].Trail, shelf})
		}
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Or(a.Last.Compare(b.Last), strings.Compare(a.Name, b.Name)) })
	names = map[string][]string{}
	for _, f := range all {
		if now.Sub(f.Last) < fresh || !(b.Age > 0 && by.Sub(f.Last) > b.Age) && (b.Bytes == 0 || total <= b.Bytes) {
			break
		}
		total -= f.Bytes
		if len(names[f.trail]) == 0 {
			trails = append(trails, f.trail)
		}
		names[f.trail] = append(names[f.trail], f.Name)
	}
	return trails, names
}
