package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/retention"
	"tipstaff/internal/command/cmdline"
)

// Room says how much the record takes, what of it is kept, and how much room is left.
type Room struct {
	Keep       string `json:"keep,omitempty"`       // bounds of trails, as they are written; "": none
	Recordings string `json:"recordings,omitempty"` // bounds of recordings
	Trails     int64  `json:"trails_bytes"`
	Recorded   int64  `json:"recordings_bytes"`
	Free       int64  `json:"free_bytes"` // -1: not known
	Due        int    `json:"due"`        // trails of which something is not to be kept
	Verified   int    `json:"verified"`   // of the newest trails
	// Tampered are those of them that do not verify, each with the first fault.
	Tampered []string `json:"tampered,omitempty"`
	Error    string   `json:"error,omitempty"`
}

const (
	// littleRoom is what should be free for the record.
	littleRoom = 1 << 30
	// muchRecord is how much a record that nothing bounds takes without a word.
	muchRecord = 10 << 30
	// verifiedBytes is how much of the newest trails is verified.
	verifiedBytes = 32 << 20
)

// examineRoom looks at the trails in a directory.
func examineRoom(o RecordOptions) *Room {
	r := &Room{Keep: o.Keep.String(), Recordings: o.KeepRecordings.String(), Free: retention.Free(o.Dir)}
	stocks, err := audit.Inventories(o.Dir, time.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return r
	}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	for i := range stocks {
		r.Trails += stocks[i].Bytes
		for _, f := range stocks[i].Recordings {
			r.Recorded += f.Bytes
		}
	}
	r.verify(o.Dir, stocks)
	steps, err := retention.Plan(retention.Options{Dir: o.Dir, Trails: o.Keep, Recordings: o.KeepRecordings})
	if r.Due = len(steps); err != nil {
		r.Error = err.Error()
	}
	return r
}

// verify verifies the newest trails, as many as take no time to speak of, and what they
// say of others.
func (r *Room) verify(dir string, stocks []audit.Inventory) {
	left := int64(verifiedBytes)
	newest := map[string]bool{}
	for _, s := range slices.Backward(stocks) {
		if left -= s.Bytes; left < 0 {
			break
		}
		newest[s.Trail] = true
	}
	report, err := audit.Verify(dir, audit.VerifyOptions{Only: func(trail string) bool { return newest[trail] }})
	if err != nil {
		r.Tampered = append(r.Tampered, err.Error())
		return
	}
	for _, one := range report.Trails {
		name := filepath.Base(one.Path)
		if newest[name] {
			r.Verified++
		}
		if one.Status == audit.Tampered {
			r.Tampered = append(r.Tampered, fmt.Sprintf("%s: %s", name, one.Fault))
		}
	}
}

// findings are early words about the room for the record. They are good where there
// are bounds, and none where there is nothing to say.
func (r *Room) findings() (list []Finding) {
	const make = "move old records to another disk with tipstaff audit archive, or bound them with TIPSTAFF_AUDIT_KEEP and TIPSTAFF_RECORDINGS_KEEP"
	if r.Error != "" {
		list = append(list, doubt("how much the record takes cannot be told: %s", r.Error))
	}
	if r.Free >= 0 && r.Free < littleRoom {
		list = append(list, doubt("the record has %d MiB of room left; without room for a record no command runs", r.Free>>20).note(make))
	}
	for _, one := range r.Tampered {
		list = append(list, doubt("a trail does not verify: %s", cmdline.Escape(one)).
			note("it was changed by other hands than a server's, or the disk has: tipstaff audit verify looks at all trails; keep what it names, it is evidence"))
	}
	bounded := r.Keep != "" || r.Recordings != ""
	switch {
	case bounded && r.Due > 0:
		list = append(list, doubt("more of the record is there than is to be kept (%s): something of %d trails", r.bounds(), r.Due).
			note("the next server removes it, or tipstaff audit prune; what cannot be removed, tipstaff audit prune says"))
	case bounded:
		list = append(list, good("of the record %s is kept; it takes %d MiB, and recordings %d MiB", r.bounds(), r.Trails>>20, r.Recorded>>20))
	case r.Trails+r.Recorded > muchRecord:
		list = append(list, doubt("the record takes %d GiB, and nothing bounds it", (r.Trails+r.Recorded)>>30).note(make))
	}
	return list
}

func (r *Room) bounds() string {
	switch {
	case r.Recordings == "":
		return r.Keep
	case r.Keep == "":
		return "all, and of recordings " + r.Recordings
	}
	return r.Keep + ", and of recordings " + r.Recordings
}
