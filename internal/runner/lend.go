package runner

import (
	"context"
	"errors"
	"time"

	"tipstaff"
	"tipstaff/internal/credentials"
	"tipstaff/internal/policy"
	"tipstaff/internal/proc"
	"tipstaff/internal/sandbox"
)

// remotesPatience is how long it may take to find out which hosts are remotes.
const remotesPatience = 2 * time.Second

var errNoLender = errors.New("the policy lends this command credentials, and this server lends none")

// borrow gets ready what a command is lent by way of doors; nil if that is nothing.
func (l Local) borrow(g *policy.Grant) (*credentials.Lent, error) {
	switch {
	case !credentials.ByDoor(g.Credentials()):
		return nil, nil
	case l.Lender == nil:
		return nil, errNoLender
	}
	return l.Lender.Lend(g.Credentials()), nil
}

// lend gives the environment by which the command finds what it is lent. Which
// hosts git's passwords are lent for is found out now, before the command runs.
func (l Local) lend(ctx context.Context, g *policy.Grant, c *sandbox.Confined, lent *credentials.Lent) []string {
	if lent == nil {
		return c.Env
	}
	lent.FindRemotes(ctx, g.Argv(), func(ctx context.Context, argv []string, bytes int) ([]byte, error) {
		path, err := l.Lender.Git()
		if err != nil {
			return nil, err
		}
		return credentials.Output(ctx, l.Engine, proc.Launch{
			Path: path, Argv: argv, Env: c.Env, Dir: g.Dir().Fd(), DirPath: g.Dir().Path(), Confine: c.Confinement,
		}, "", bytes, remotesPatience)
	})
	return lent.Env(c.Env, c.DoorPath)
}

// giveBack closes the doors, and says what went through them.
func giveBack(r *tipstaff.Result, c *sandbox.Confined, lent *credentials.Lent) {
	if lent == nil {
		return
	}
	c.CloseDoors()
	r.Used = lent.Used()
	r.Refusals = append(r.Refusals, lent.Told()...)
}
