package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
)

// Engine describes the engine of the settings: the NATS servers of a fleet.
type Engine struct {
	Servers []string `json:"servers"`
	Roles   []string `json:"roles"`
	Server  string   `json:"server,omitempty"` // the one that answers
	// Offset is how far this machine's clock is ahead of the server's; known to
	// gateways alone, because runners may read nothing there.
	Offset  *time.Duration `json:"offset_ns,omitempty"`
	Runners int            `json:"runners"`          // leases that are held; gateways only
	Skewed  []string       `json:"skewed,omitempty"` // runners whose clocks are off
	Pings   time.Duration  `json:"pings_ns,omitempty"`
	Clear   []string       `json:"clear,omitempty"` // servers that are reached without encryption
	Error   string         `json:"error,omitempty"` // why this machine has no part in the fleet
	Notes   []string       `json:"notes,omitempty"`
}

// EngineOptions say what to examine.
type EngineOptions struct {
	Members []EngineMember // one for each role
	Clear   []string
	Check   error // what is wrong with the settings and their files
	Pings   bool  // measure the server's pings, which takes seconds
}

// EngineMember is this machine in one role.
type EngineMember struct {
	Role    natsx.Role
	Options natsx.Options
}

// engineTime is how long the engine has to answer.
const engineTime = 5 * time.Second

// ExamineEngine connects as each member and tries what it needs; nil without
// members. It leaves nothing behind: what it writes is that leases which nobody
// holds are given back, and a pulse that no gateway counts.
func ExamineEngine(ctx context.Context, o EngineOptions) *Engine {
	if len(o.Members) == 0 {
		return nil
	}
	d := &Engine{Servers: o.Members[0].Options.Servers, Clear: o.Clear}
	for _, m := range o.Members {
		d.Roles = append(d.Roles, string(m.Role))
	}
	if o.Check != nil {
		d.Error = o.Check.Error()
		return d
	}
	for _, m := range o.Members {
		if err := d.examine(ctx, m); err != nil {
			d.Error = fmt.Sprintf("as %s %s: %v", m.Role, m.Options.Name, err)
			return d
		}
	}
	if o.Pings {
		var err error
		if d.Pings, err = natsx.ServerPings(ctx, o.Members[0].Options); err != nil {
			d.Notes = append(d.Notes, err.Error())
		} else if d.Pings == 0 || d.Pings > natsx.SlowPings {
			d.Notes = append(d.Notes, slowPings)
		}
	}
	return d
}

const slowPings = "the server pings its clients too seldom and notices a silent one only after minutes: set ping_interval to \"3s\" and ping_max to 2, as \"tipstaff engine config\" does"

func (d *Engine) examine(ctx context.Context, m EngineMember) error {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	c, err := natsx.Connect(ctx, m.Options)
	if err != nil {
		return err
	}
	defer c.Close()
	defer func() {
		if n := c.Foreign(); n > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("%d leases there are not signed by the member whose they should be, and are passed over: a key may be misused; tipstaff_engine_faults_total{kind=\"foreign\"} goes on counting", n))
		}
	}()
	if err := c.Wait(ctx); err != nil {
		return err
	}
	d.Server = c.Server()
	if m.Role == natsx.Operator {
		return d.reach(ctx, c)
	}
	self := natsx.Address{Name: m.Options.Name, InstanceID: natsx.NewInstanceID()}
	if err := c.DropLease(ctx, self); err != nil {
		if c.Refused() > 0 {
			return fmt.Errorf("the server refuses what a %s needs: its key has another role or name there; see tipstaff engine config", m.Role)
		}
		return fmt.Errorf("JetStream does not answer: %w (gateways make what is missing when they start)", err)
	}
	if m.Role == natsx.Gateway {
		return d.watch(ctx, c, self)
	}
	return nil
}

// reach reads which gateways and runners an operator could ask.
func (d *Engine) reach(ctx context.Context, c *natsx.Conn) error {
	all, err := c.Peers(ctx)
	switch {
	case errors.Is(err, natsx.ErrForbidden):
		return errors.New("the server refuses what an operator needs: its key has another role or name there; see tipstaff engine config --operator")
	case err != nil:
		return err
	}
	for _, p := range fleet.LivePeers(all) {
		if p.Role == natsx.Runner {
			d.Runners++
		}
	}
	return nil
}

// watch reads the leases up to a pulse of its own, and the clocks in them.
func (d *Engine) watch(ctx context.Context, c *natsx.Conn, self natsx.Address) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	came, seen := false, map[natsx.Address]bool{}
	go func() {
		done <- c.WatchLeases(ctx, self, func(l natsx.LeaseChange) {
			switch {
			case l.Role == natsx.Gateway && l.Value != nil:
				offset := time.Since(l.Time)
				d.Offset, came = &offset, true
				cancel()
			case l.Value == nil:
				delete(seen, l.Member)
			case !seen[l.Member]:
				seen[l.Member] = true
				d.clock(l)
			}
		})
	}()
	if _, err := c.PutLease(ctx, self, []byte("{}")); err != nil && ctx.Err() == nil {
		return fmt.Errorf("JetStream does not answer: %w", err)
	}
	if err := <-done; err != nil {
		return fmt.Errorf("the leases cannot be watched: %w", err)
	}
	d.Runners = len(seen)
	if !came {
		return fmt.Errorf("the leases cannot be watched: nothing came back in %v", engineTime)
	}
	return nil
}

// findings are those of an engine; nothing without one.
func (d *Engine) findings() []Finding {
	if d == nil {
		return nil
	}
	where := listed(d.Servers)
	if d.Error != "" {
		return []Finding{fault("engine: %s: %s", where, indented(d.Error)).
			note("mend it, or unset TIPSTAFF_ENGINE; a server alone needs none")}
	}
	text := fmt.Sprintf("engine: %s answers, with JetStream", listed([]string{d.Server}))
	if d.Offset != nil {
		text += fmt.Sprintf("; runners with a lease: %d", d.Runners)
	}
	if slices.Equal(d.Roles, []string{string(natsx.Operator)}) {
		text += fmt.Sprintf(", to this operator; runners to look after: %d", d.Runners)
	}
	all := []Finding{good("%s", text)}
	if d.Offset != nil && d.Offset.Abs() > natsx.ClockSkew/2 {
		all = append(all, doubt("engine: this machine's clock is %v away from the server's; beyond %v runners refuse what it signs", d.Offset.Round(time.Second), natsx.ClockSkew).
			note("set it, and keep it set by NTP"))
	}
	if len(d.Skewed) > 0 {
		all = append(all, doubt("engine: clocks of runners are off: %s", listed(d.Skewed)).note("set them: beyond %v a runner refuses what gateways sign", natsx.ClockSkew))
	}
	if len(d.Clear) > 0 {
		all = append(all, doubt("engine: %s is reached without encryption", listed(d.Clear)).note("what commands print can be read on the way: use tls:// and TIPSTAFF_ENGINE_TLS_CA"))
	}
	for _, n := range d.Notes {
		all = append(all, doubt("engine: %s", indented(strings.TrimSpace(n))))
	}
	return all
}
