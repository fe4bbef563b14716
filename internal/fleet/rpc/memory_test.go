package rpc

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// network is a link in memory between members, with loss, delay and cuts.
type network struct {
	mu      sync.Mutex
	members []*member
	random  *rand.Rand
	loss    float64       // of each message
	delay   time.Duration // of each message
	payload int64
	drop    func(m natsx.Message) bool // nil: none
	sent    map[string]int             // messages by verb or kind
}

// member is one end of a network.
type member struct {
	net  *network
	subs []*subscription
	cut  bool // it can neither send nor hear, and does not notice
	down bool // it has no connection, and knows
}

type subscription struct {
	subject string
	queue   chan natsx.Message
	quit    chan struct{}
}

func newNetwork() *network {
	return &network{random: rand.New(rand.NewPCG(1, 2)), payload: 1 << 20, sent: map[string]int{}}
}

func (n *network) join() *member {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := &member{net: n}
	n.members = append(n.members, m)
	return m
}

// set changes a member or the network, safely.
func (n *network) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func matches(pattern, subject string) bool {
	if head, all := strings.CutSuffix(pattern, ">"); all {
		return strings.HasPrefix(subject, head)
	}
	return pattern == subject
}

func (m *member) MaxPayload() int64 { return m.net.payload }

func (m *member) Publish(subject, reply string, data []byte) error {
	n := m.net
	n.mu.Lock()
	defer n.mu.Unlock()
	msg := natsx.Message{Subject: subject, Reply: reply, Data: append([]byte(nil), data...)}
	switch {
	case m.down:
		return natsx.ErrUnavailable
	case int64(len(data)) > n.payload:
		return natsx.ErrTooLarge
	case m.cut:
		return nil
	}
	if strings.HasPrefix(subject, "tip1.g.") && len(data) > 0 {
		n.sent[string(data[:1])]++
	} else {
		n.sent[subject[strings.LastIndexByte(subject, '.')+1:]]++
	}
	heard := false
	for _, other := range n.members {
		heard = n.deliver(other, msg) || heard
	}
	if !heard && reply != "" {
		n.deliver(m, natsx.Message{Subject: reply, Nobody: true})
	}
	return nil
}

// deliver hands a message to a member, and reports whether it listens.
func (n *network) deliver(m *member, msg natsx.Message) (listens bool) {
	for _, s := range m.subs {
		if !matches(s.subject, msg.Subject) {
			continue
		}
		listens = true
		if m.cut || m.down || n.drop != nil && n.drop(msg) || n.random.Float64() < n.loss {
			continue
		}
		s.queue <- msg
	}
	return listens && !m.down
}

func (m *member) Subscribe(subject string, handle func(natsx.Message)) (stop func(), err error) {
	if m.down {
		return nil, errors.New("down")
	}
	s := &subscription{subject: subject, queue: make(chan natsx.Message, 1<<14), quit: make(chan struct{})}
	over := make(chan struct{})
	m.net.set(func() { m.subs = append(m.subs, s) })
	go func() {
		defer close(over)
		for {
			select {
			case msg := <-s.queue:
				if m.net.delay > 0 {
					time.Sleep(m.net.delay)
				}
				handle(msg)
			case <-s.quit:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(s.quit)
		m.net.set(func() { s.subject = "none" })
		<-over
	}), nil
}
