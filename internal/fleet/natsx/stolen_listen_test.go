package natsx_test

import (
	"errors"

	"github.com/nats-io/nats.go"

	"tipstaff/internal/fleet/natsx"
)

// overhears has the attacker listen, the honest ones speak, and says whether the
// attacker got it.
func (f *field) overhears(subject, queue string, speak func()) bool {
	f.t.Helper()
	sub, err := f.stolen.QueueSubscribeSync(subject, queue)
	if err != nil {
		f.t.Fatal(err)
	}
	defer sub.Unsubscribe() // ends with the test
	f.settle()
	for range 20 { // where a queue shares them out, some come here
		speak()
	}
	f.settle()
	come, _, err := sub.Pending() // nothing but these has come: a handler might not have run yet
	for ; err == nil && come > 0; come-- {
		var m *nats.Msg
		if m, err = sub.NextMsgWithContext(within(f.t)); err == nil {
			f.note("attacker:" + m.Subject + ":" + string(m.Data))
		}
	}
	if err != nil && !errors.Is(err, nats.ErrBadSubscription) && !errors.Is(err, nats.ErrPermissionViolation) {
		f.t.Fatal(err)
	}
	return f.heard("attacker", "secret")
}

func (f *field) call()   { f.publish(f.gateway, f.r.Asks("call")) }
func (f *field) answer() { f.publish(f.runner, f.g.Answers(f.r, f.token)) }
func (f *field) publish(c *natsx.Conn, subject string) {
	f.t.Helper()
	if err := c.Publish(subject, "", []byte("secret")); err != nil {
		f.t.Fatal(err)
	}
}
