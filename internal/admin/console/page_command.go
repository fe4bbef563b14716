package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"tipstaff/internal/admin/api"
	"tipstaff/internal/command/cmdline"
)

func (s *Server) routesCommand(mux *http.ServeMux) {
	mux.Handle("GET /commands/{id}", s.page(s.showCommand))
	mux.Handle("GET /commands/{id}/still", s.page(s.stillCommand))
	mux.Handle("GET /commands/{id}/live", s.stream(s.commandLive))
}

// commandView is one command. Text is what it had printed when the page was made;
// a page that is live begins without.
type commandView struct {
	*api.Command
	Still  bool
	Text   string
	Screen []string
	Lost   int64
}

// Ended reports whether the command runs no more.
func (c commandView) Ended() bool { return c.State != api.Waiting && c.State != "running" }

// errGone is the answer for commands that no server knows any more.
func errGone(id string) error {
	return &problem{Status: http.StatusNotFound, Title: "This command is not known any more",
		Text: "It has ended a while ago, or its server has. The trail has it: tipstaff audit search --command " + cmdline.Escape(id)}
}

func (s *Server) showCommand(w http.ResponseWriter, r *http.Request) error {
	c, err := s.commandNow(r)
	if err != nil {
		return err
	}
	return s.show(w, r, view{Page: "command", Title: c.Line, Here: "/now", Scripts: []string{"command.js"}, Data: commandView{Command: c}})
}

// commandNow returns a command that runs, or has ended not long ago.
func (s *Server) commandNow(r *http.Request) (*api.Command, error) {
	id := r.PathValue("id")
	if c := find(s.now.latest(r.Context()).overview, id); c != nil {
		return c, nil
	}
	var found *api.Command
	err := s.admin.Follow(r.Context(), id, func(e api.Event) error {
		found = e.Command
		return errSeen
	})
	if found == nil || err != nil && !errors.Is(err, errSeen) {
		return nil, errGone(id)
	}
	return found, nil
}

var errSeen = errors.New("seen")

// stillTime is how long a page that is not live waits for what there is.
const stillTime = 300 * time.Millisecond

// stillCommand shows what a command has printed so far, for browsers without
// scripts.
func (s *Server) stillCommand(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), stillTime)
	defer cancel()
	v := commandView{Still: true}
	var text strings.Builder
	openLine := ""
	err := s.admin.Follow(ctx, r.PathValue("id"), func(e api.Event) error {
		if e.Command != nil {
			v.Command = e.Command
		}
		switch e.Kind {
		case api.KindOutput:
			text.WriteString(e.Text)
			openLine, v.Lost = e.Open, v.Lost+e.Lost
		case api.KindScreen:
			v.Screen = e.Screen
		}
		return nil
	})
	if v.Command == nil {
		if err != nil && !errors.Is(err, api.ErrUnknown) && ctx.Err() == nil {
			return err
		}
		return errGone(r.PathValue("id"))
	}
	v.Text = visibleOutput(text.String() + openLine)
	return s.show(w, r, view{Page: "command", Title: v.Line, Here: "/now", Data: v})
}

// outputNews is more of what a command prints.
type outputNews struct {
	Text   string   `json:"text,omitempty"`
	Open   string   `json:"open,omitempty"`
	Lost   int64    `json:"lost,omitempty"`
	Screen []string `json:"screen,omitempty"`
}

// commandLive sends what a command prints as it comes, and how it goes with it.
func (s *Server) commandLive(ctx context.Context, r *http.Request, n *news) error {
	id := r.PathValue("id")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	defer watching.Wait()
	var ended sync.Once
	about := func(c *api.Command) error {
		html, err := s.part("command", "about", commandView{Command: c})
		if err != nil {
			return err
		}
		return n.send("part", piece{"about", html})
	}
	watching.Go(func() {
		_ = s.now.follow(ctx, func(looked seen) error {
			if c := find(looked.overview, id); c != nil {
				return about(c)
			}
			return nil
		})
	})
	err := s.admin.Follow(ctx, id, func(e api.Event) error {
		switch e.Kind {
		case api.KindCommand:
			return errors.Join(n.send("start", ""), about(e.Command))
		case api.KindOutput:
			return n.send("output", outputNews{Text: visibleOutput(e.Text), Open: visibleOutput(e.Open), Lost: e.Lost})
		case api.KindScreen:
			lines := make([]string, len(e.Screen))
			for i, l := range e.Screen {
				lines[i] = visibleOutput(l)
			}
			return n.send("output", outputNews{Screen: lines})
		case api.KindEnd:
			cancel()
			watching.Wait()
			var err error
			ended.Do(func() { err = errors.Join(about(e.Command), n.send("end", "")) })
			return err
		}
		return nil
	})
	if errors.Is(err, api.ErrUnknown) {
		return n.send("end", "The command is not known any more: it has ended, or its server has.")
	}
	return err
}

// visibleOutput shows what cannot be seen as an escape, and leaves lines and tabs.
func visibleOutput(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for rest := s; ; {
		at := strings.IndexAny(rest, "\n\t")
		if at < 0 {
			b.WriteString(cmdline.Escape(rest))
			return b.String()
		}
		b.WriteString(cmdline.Escape(rest[:at]))
		b.WriteByte(rest[at])
		rest = rest[at+1:]
	}
}
