package credentials

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
)

// key makes a public key as agents write them; its bytes mean nothing here.
func key(name string) []byte { return appendText(nil, []byte("ssh-ed25519 "+name)) }

// message puts a message together.
func message(kind byte, parts ...[]byte) []byte {
	m := []byte{kind}
	for _, p := range parts {
		m = appendText(m, p)
	}
	return m
}

// realAgent answers as an agent with two keys does, and notes what it is asked.
type realAgent struct{ heard [][]byte }

func (r *realAgent) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		for {
			m, err := readMessage(theirs)
			if err != nil {
				return
			}
			r.heard = append(r.heard, m)
			answer := []byte{6} // SSH_AGENT_SUCCESS
			switch m[0] {
			case agentRequestIdentities:
				answer = []byte{agentIdentities, 0, 0, 0, 2}
				for _, name := range []string{"one", "two"} {
					answer = appendText(appendText(answer, key(name)), []byte(name+"@host"))
				}
			case agentSignRequest:
				answer = message(agentSignature, []byte("signature"))
			}
			if writeMessage(theirs, answer) != nil {
				return
			}
		}
	}()
	return ours, nil
}

// talk says messages at a door, one after the other, and gives the answers.
func talk(t *testing.T, door *agentDoor, messages ...[]byte) (answers [][]byte) {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() { defer theirs.Close(); door.serve(t.Context(), theirs) }()
	for _, m := range messages {
		if err := writeMessage(ours, m); err != nil {
			return answers
		}
		a, err := readMessage(ours)
		if err != nil {
			return answers
		}
		answers = append(answers, a)
	}
	return answers
}

var flags = []byte{0, 0, 0, 0}

func TestTheDoorPassesOnWhatSignsAndNothingElse(t *testing.T) {
	sign := append(message(agentSignRequest, key("one"), []byte("data")), flags...)
	bind := append(message(agentExtension, []byte(sessionBind), []byte("host"), []byte("session"), []byte("signature")), 0)
	for _, c := range []struct {
		says   string
		m      []byte
		passed bool
	}{
		{"the list of keys", []byte{agentRequestIdentities}, true},
		{"a signature", sign, true},
		{"a binding", bind, true},
		{"the list of keys with something behind it", []byte{agentRequestIdentities, 0}, false},
		{"a request to sign with something behind it", append(bytes.Clone(sign), 0), false},
		{"a request to sign that ends early", sign[:len(sign)-1], false},
		{"a key that claims to be longer than it is", []byte{agentSignRequest, 0xff, 0xff, 0xff, 0xff}, false},
		{"adding a key", message(17, []byte("ssh-ed25519")), false},
		{"removing a key", message(18, key("one")), false},
		{"removing all keys", []byte{19}, false},
		{"a smart card", message(20, []byte("/usr/lib/x.so"), nil), false},
		{"locking", message(22, []byte("passphrase")), false},
		{"unlocking", message(23, []byte("passphrase")), false},
		{"a key with constraints", message(25, []byte("ssh-ed25519")), false},
		{"a question for extensions", message(agentExtension, []byte("query")), false},
		{"another extension", message(agentExtension, []byte("ssh-add-x@example.org"), []byte("x")), false},
		{"keys of the first version", []byte{1}, false},
		{"an unknown message", []byte{200}, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			agent, count := &realAgent{}, &tally{}
			answers := talk(t, &agentDoor{dial: agent.dial, count: count}, c.m, []byte{agentRequestIdentities})
			if len(answers) != 2 || answers[1][0] != agentIdentities {
				t.Fatalf("%v", answers)
			}
			if refused := answers[0][0] == agentFailure; refused == c.passed || c.passed != (len(agent.heard) == 2) {
				t.Errorf("answered with %v; the agent heard %v", answers[0], agent.heard)
			}
			if u := count.list(); !c.passed && (len(u) != 1 || u[0].Refused != 1 || u[0].Given != 0) {
				t.Errorf("counted as %v", u)
			}
		})
	}
}

func TestOnlyTheKeysThatAreLentAreListedAndSign(t *testing.T) {
	agent, count := &realAgent{}, &tally{}
	door := &agentDoor{dial: agent.dial, keys: []string{fingerprint(key("two"))}, count: count}
	sign := func(name string) []byte {
		return append(message(agentSignRequest, key(name), []byte("data")), flags...)
	}
	a := talk(t, door, []byte{agentRequestIdentities}, sign("one"), sign("two"), sign("two"))
	want := appendText(appendText([]byte{agentIdentities, 0, 0, 0, 1}, key("two")), []byte("two@host"))
	if len(a) != 4 || !bytes.Equal(a[0], want) || a[1][0] != agentFailure || a[2][0] != agentSignature || a[3][0] != agentSignature {
		t.Fatalf("%q", a)
	}
	u := count.list()
	if len(u) != 2 || u[0].Refused != 1 || u[1].Credential != "ssh-agent "+fingerprint(key("two")) || u[1].Given != 2 {
		t.Errorf("counted as %v", u)
	}
	if told := strings.Join(count.notes(), " "); !strings.Contains(told, fingerprint(key("one"))) {
		t.Errorf("the caller is told %q", told)
	}
}

func TestNothingIsSignedForAMachineThatTheAgentIsForwardedTo(t *testing.T) {
	agent, count := &realAgent{}, &tally{}
	bind := append(message(agentExtension, []byte(sessionBind), []byte("host"), []byte("session"), []byte("signature")), 1)
	a := talk(t, &agentDoor{dial: agent.dial, count: count}, bind, []byte{agentRequestIdentities})
	if len(a) != 1 || a[0][0] != agentFailure || len(agent.heard) != 0 {
		t.Errorf("%v; the agent heard %v", a, agent.heard)
	}
}

func TestAMessageThatIsTooLongEndsTheConversation(t *testing.T) {
	for _, size := range []uint32{0, maxAgentMessage + 1, 1<<32 - 1} {
		agent := &realAgent{}
		var in bytes.Buffer
		in.Write(binary.BigEndian.AppendUint32(nil, size))
		in.Write(make([]byte, 100))
		var out bytes.Buffer
		(&agentDoor{dial: agent.dial, count: &tally{}}).serve(t.Context(), struct {
			*bytes.Buffer
			w *bytes.Buffer
		}{&in, &out})
		if len(agent.heard) != 0 {
			t.Errorf("%d bytes: the agent heard %v", size, agent.heard)
		}
	}
}

func TestAnAgentThatIsNotThereIsToldWithoutItsPath(t *testing.T) {
	count := &tally{}
	door := &agentDoor{dial: New(Options{Environ: []string{"SSH_AUTH_SOCK=/nowhere/secret-name"}}).dialAgent, count: count}
	if a := talk(t, door, []byte{agentRequestIdentities}); len(a) != 1 || a[0][0] != agentFailure {
		t.Errorf("%v", a)
	}
	door.dial = New(Options{}).dialAgent
	talk(t, door, []byte{agentRequestIdentities})
	told := strings.Join(count.notes(), " ")
	if !strings.Contains(told, "its socket is gone") || !strings.Contains(told, "SSH_AUTH_SOCK") || strings.Contains(told, "secret-name") {
		t.Errorf("the caller is told %q", told)
	}
}

// TestAnAgentThatWaitsForAPersonHoldsNobodyUp: when the command has ended, so does
// the question.
func TestAnAgentThatWaitsForAPersonHoldsNobodyUp(t *testing.T) {
	asked := make(chan struct{})
	silent := func() (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() { _, _ = readMessage(theirs); close(asked) }()
		return ours, nil
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer theirs.Close()
		(&agentDoor{dial: silent, count: &tally{}}).serve(ctx, theirs)
	}()
	if err := writeMessage(ours, []byte{agentRequestIdentities}); err != nil {
		t.Fatal(err)
	}
	<-asked
	end()
	if a, err := readMessage(ours); err != nil || a[0] != agentFailure {
		t.Errorf("%v, %v", a, err)
	}
	_ = ours.Close()
	<-over
}

// FuzzTheAgentsDoor: nothing but three kinds of messages reaches the agent, and no
// message is answered with nothing.
func FuzzTheAgentsDoor(f *testing.F) {
	f.Add([]byte{agentRequestIdentities})
	f.Add(append(message(agentSignRequest, key("one"), []byte("data")), flags...))
	f.Add(append(message(agentExtension, []byte(sessionBind), nil, nil, nil), 0))
	f.Fuzz(func(t *testing.T, m []byte) {
		if len(m) == 0 || len(m) > 1<<10 {
			return
		}
		asked := false
		up := upstream{dial: func() (net.Conn, error) { asked = true; return nil, errors.New("none") }}
		_, _ = (&agentDoor{count: &tally{}}).answer(&up, m)
		if kind := m[0]; asked && kind != agentRequestIdentities && kind != agentSignRequest && kind != agentExtension {
			t.Errorf("%v reaches the agent", m)
		}
	})
}
