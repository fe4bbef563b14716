package mcpserver

import (
	"context"
	"errors"

	"tipstaff"
	"tipstaff/internal/run/job"
	"tipstaff/internal/run/session"
)

// inSession carries out a command of a session: in its turn, or beside the order of
// the session if it is to run in the background from the start. request makes the
// request for the session as it then is.
func (s *Server) inSession(ctx context.Context, c *caller, m runMode, request func(tipstaff.Session) tipstaff.Request) (callState, error) {
	if err := c.in.await(ctx); err != nil {
		return callState{}, err
	}
	if m.background && m.yield == 0 {
		member, err := s.opts.Sessions.Join(c.origin.Principal, c.session)
		c.in.release()
		if err != nil {
			return callState{}, err
		}
		return s.carryOut(ctx, c, request(member.Session), m, member, nil)
	}
	var out callState
	_, err := s.opts.Sessions.Execute(ctx, c.origin.Principal, c.session, c.in.release,
		func(ctx context.Context, in tipstaff.Session, started func()) (r tipstaff.Result, err error) {
			var member job.Member // none: the command ends with its turn
			if m.stays() {
				joined, err := s.opts.Sessions.Join(c.origin.Principal, c.session)
				if err != nil {
					return tipstaff.Result{}, err
				}
				member = joined.InTurn()
			}
			if out, err = s.carryOut(ctx, c, request(in), m, member, started); out.runs {
				return tipstaff.Result{}, session.ErrWentOn
			}
			return out.result, err
		})
	if errors.Is(err, session.ErrWentOn) {
		err = nil
	}
	return out, err
}
