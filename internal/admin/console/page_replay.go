package console

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/output/recording"
)

func (s *Server) routesReplay(mux *http.ServeMux) {
	mux.Handle("GET /replay", s.page(s.replayList))
	mux.Handle("GET /replay/{trail}/{command}", s.page(s.replayOne))
	mux.Handle("GET /replay/{trail}/{command}/cast", s.page(s.replayCast))
}

// playerPolicy is that of the page with the player alone: asciinema-player has
// its terminal in WebAssembly, and knows no other way.
var playerPolicy = strings.Replace(contentPolicy, "script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'", 1)

const (
	// replayRows is how many recordings a page of the list has.
	replayRows = 100
	// plainBytes is how much of a recording the page has as text.
	plainBytes = 256 << 10
)

// replayListView is the list of recordings.
type replayListView struct {
	Source       sourceView
	Machine      string    // of a fleet, whose recordings are listed; "": all
	Reached      time.Time // the search of the trails went as far as this, and no further
	Rows         []castRow
	Total        int
	Bytes        int64
	From, To     int
	Newer, Older string
	Fault        string
}

type castRow struct {
	Trail, Command string
	Bytes          int64
	Ended          time.Time // when the file was written
	Head           recording.Head
	Link           string
	Machine        string // of a fleet, where the file lies
	Here           bool   // and that is this one
	path           string
	of             *query.Trail
}

// head reads what the recording says of itself.
func (row *castRow) head() recording.Head {
	f, err := audit.OpenRegular(row.path)
	if errors.Is(err, fs.ErrNotExist) { // it lies in an archive
		if data, wrong := row.of.File(row.path); wrong == nil {
			h, _ := recording.HeadOf(data)
			return h
		}
	}
	if err != nil {
		return recording.Head{}
	}
	defer func() { _ = f.Close() }() // it was only read
	h, _ := recording.ReadHead(f)
	return h
}

func (s *Server) replayList(w http.ResponseWriter, r *http.Request) error {
	s.trails.refresh(s.ending, &s.study.work)
	v := replayListView{Source: s.trails.view()}
	if v.Source.Fleet {
		if err := s.recorded(r, &v); err != nil {
			return err
		}
	} else {
		s.listCasts(r, &v)
	}
	return s.show(w, r, view{Page: "replay", Title: "Replay", Here: "/replay", Styles: []string{"study.css"}, Data: &v})
}

// listCasts lists the recordings that lie on this machine.
func (s *Server) listCasts(r *http.Request, v *replayListView) {
	all, err := s.casts()
	if err != nil {
		v.Fault = err.Error()
	}
	v.Total = len(all)
	for i := range all {
		v.Bytes += all[i].Bytes
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	v.From = min(max(from, 0), max(0, len(all)-1))
	v.To = min(v.From+replayRows, len(all))
	for _, row := range all[v.From:v.To] {
		row.Head = row.head() // without one the row has its id
		v.Rows = append(v.Rows, row)
	}
	if v.To < len(all) {
		v.Older = "/replay?from=" + strconv.Itoa(v.To)
	}
	if v.From > 0 {
		v.Newer = "/replay?from=" + strconv.Itoa(max(0, v.From-replayRows))
	}
}

// casts finds the recordings of all trails, the newest first.
func (s *Server) casts() (all []castRow, err error) {
	trails, err := s.trails.find("")
	if err != nil {
		return nil, err
	}
	for i := range trails {
		files, err := trails[i].Below(recording.Directory)
		if err != nil {
			return all, err
		}
		for _, f := range files {
			command, ok := strings.CutSuffix(filepath.Base(f.Path), ".cast")
			if !ok {
				continue
			}
			all = append(all, castRow{
				Trail: trails[i].Name(), Command: command, Bytes: f.Bytes, Ended: f.Time, path: f.Path, of: &trails[i],
				Link: "/replay/" + url.PathEscape(trails[i].Name()) + "/" + url.PathEscape(command),
			})
		}
	}
	slices.SortFunc(all, func(a, b castRow) int {
		return cmp.Or(b.Ended.Compare(a.Ended), strings.Compare(a.Command, b.Command))
	})
	return all, nil
}

// replayView is one recording.
type replayView struct {
	castRow
	Altered string // it is not what the trail speaks of, and is not shown
	Text    string
	Cut     bool
	Cast    string // as it was recorded
	Shown   string // for the player
	Records string
}

// castOf returns the recording of a request, if it is the one that the trail
// speaks of.
func (s *Server) castOf(ctx context.Context, r *http.Request) (row castRow, data []byte, err error) {
	t, at, err := s.trails.one(r.PathValue("trail"))
	if err != nil {
		return row, nil, err
	}
	if at.fleet {
		if t, err = s.alsoHere(t, r.PathValue("command")); err != nil {
			return row, nil, err
		}
	}
	row.Trail, row.Command = t.Name(), r.PathValue("command")
	row.Link = "/replay/" + url.PathEscape(row.Trail) + "/" + url.PathEscape(row.Command)
	done, err := s.study.read(ctx)
	if err != nil {
		return row, nil, err
	}
	defer done()
	cast, err := query.Recording(ctx, []query.Trail{*t}, row.Command)
	var retired *query.RetiredError
	if errors.As(err, &retired) {
		return row, nil, &problem{Status: http.StatusNotFound, Title: "The recording was retired", Text: retired.Error()}
	}
	if errors.Is(err, query.ErrNoRecording) {
		return row, nil, &problem{Status: http.StatusNotFound, Title: "There is no such recording", Text: "Servers keep what commands print with TIPSTAFF_RECORDINGS=true."}
	}
	if err != nil {
		return row, nil, err
	}
	row.Bytes = int64(len(cast.Data))
	if info, err := os.Stat(cast.Path); err == nil {
		row.Ended = info.ModTime()
	}
	row.Head, err = recording.HeadOf(cast.Data)
	return row, cast.Data, err
}

func (s *Server) replayOne(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), recordPatience)
	defer cancel()
	row, data, err := s.castOf(ctx, r)
	v := replayView{castRow: row, Cast: row.Link + "/cast", Shown: row.Link + "/cast?shown=1", Records: "/trail?" + url.Values{"command": {row.Command}}.Encode()}
	page := view{Page: "recording", Title: "Replay of " + row.Command, Here: "/replay", Styles: []string{"study.css"}, Data: &v}
	var altered *query.AlteredError
	switch {
	case errors.As(err, &altered):
		v.Altered, page.Status = altered.Error(), http.StatusConflict
		return s.show(w, r, page)
	case err != nil:
		return err
	}
	if v.Text, v.Cut, err = recording.Plain(data, plainBytes); err != nil {
		return err
	}
	page.Styles = append(page.Styles, "asciinema-player.css")
	page.Scripts, page.Policy = []string{"replay.js"}, playerPolicy
	return s.show(w, r, page)
}

func (s *Server) replayCast(w http.ResponseWriter, r *http.Request) error {
	_, data, err := s.castOf(r.Context(), r)
	if err != nil {
		return err
	}
	if r.URL.Query().Has("shown") {
		data = []byte(unturned().Replace(string(data)))
	}
	attach(w, "application/x-asciicast", r.PathValue("command")+".cast")
	_, _ = w.Write(data)
	return nil
}

// unturned replaces the characters that change the direction of text. A terminal
// obeys none of them, and the player, which is a page, would.
func unturned() *strings.Replacer {
	var pairs []string
	for _, turn := range "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		pairs = append(pairs, string(turn), "\ufffd")
	}
	return strings.NewReplacer(pairs...)
}
