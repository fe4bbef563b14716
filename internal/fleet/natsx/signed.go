package natsx

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/strictjson"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What members leave in JetStream (leases, claims, batches) and what they answer bears the
// signature of its member: whatever else comes there, by whatever way, is passed over and
// counted ([Conn.Foreign]). The key is the one that NATS knows the member by, and whose
// key is whose a member hears from the server: its configuration has a line for each
// among what the member may listen to.

// signedHeader is where the signature travels: ROLE.NAME, public key, signature.
const signedHeader = "Tipstaff-Signed"

// signedMessage begins what is signed, as [signed] does.
const signedMessage = "tipstaff message 1\n"

// keySubject names the key of a member, for those who may listen there. Nothing is ever
// sent there.
func keySubject(who, key string) string { return prefix + ".k." + who + "." + key }

// ErrForeign says that a message is not signed by the member whose it should be.
var ErrForeign = errors.New("it is not signed by a member that may write it")

// signs are the bytes that a signature of who covers: the subject, the headers with a
// meaning here, the data.
func signs(who, subject string, h nats.Header, data []byte) []byte {
	digest := sha256.Sum256(data)
	text, _ := json.Marshal([]any{who, subject, h.Get("KV-Operation"), h.Get(jetstream.ExpectedLastSubjSeqHeader), h.Get(headerName), digest[:]}) // texts alone
	return append([]byte(signedMessage), text...)
}

// sign adds the member's signature. A member without a key, whom only a server takes that
// asks for none, signs nothing.
func (c *Conn) sign(m *nats.Msg) *nats.Msg {
	if c.signer == nil {
		return m
	}
	who := c.opt.Role.letter() + "." + c.opt.Name
	sig := ed25519.Sign(c.signer.key, signs(who, m.Subject, m.Header, m.Data))
	m.Header.Set(signedHeader, who+" "+c.signer.public+" "+base64.StdEncoding.EncodeToString(sig))
	return m
}

// signedBy returns who has signed a message of a stream, as ROLE.NAME, and by which key.
func signedBy(subject string, m *nats.Msg) (who, key string, ok bool) {
	words := strings.Fields(m.Header.Get(signedHeader))
	if len(words) != 3 || len(m.Header[signedHeader]) != 1 {
		return "", "", false
	}
	sig, err := base64.StdEncoding.DecodeString(words[2])
	return words[0], words[1], err == nil && isSigned(words[1], "", signs(words[0], subject, m.Header, m.Data), sig)
}

// members are those with a key, as the server says.
type members struct {
	since time.Time           // the connection on which it said so
	asked time.Time           // when it was asked last
	keys  map[string][]string // by public key: ROLE.NAME, and NAME alone
}

// askAgain is how long an answer counts that does not know a key: a member may have been
// added since.
const askAgain = 5 * time.Second

// isMember reports whether a key is that of who, and whether it is anybody's.
func (c *Conn) isMember(ctx context.Context, who, key string) (his, anybodys bool, err error) {
	up := c.UpSince()
	c.keysMu.Lock()
	defer c.keysMu.Unlock()
	is := func() bool { return slices.Contains(c.members.keys[key], who) }
	if c.members.since != up || !is() && time.Since(c.members.asked) > askAgain {
		if err := c.askMembers(ctx, up); err != nil && !is() { // what was known before serves until it can be asked
			return false, false, err
		}
	}
	return is(), c.members.keys[key] != nil, nil
}

// askMembers asks the server what this member may listen to.
func (c *Conn) askMembers(ctx context.Context, up time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	m, err := c.nc.RequestWithContext(ctx, userInfo, nil)
	if err != nil {
		return fmt.Errorf("cannot ask the server whose key is whose (if its configuration is of an earlier release, print it anew with tipstaff engine config): %w", plain(err))
	}
	var answer struct {
		Data struct {
			Permissions struct {
				Subscribe struct {
					Allow []string `json:"allow"`
				} `json:"subscribe"`
			} `json:"permissions"`
		} `json:"data"`
	}
	if err := strictjson.Unmarshal(m.Data, &answer); err != nil {
		return fmt.Errorf("cannot read whose key is whose: %w", err)
	}
	c.members = members{since: up, asked: time.Now(), keys: map[string][]string{}}
	for _, s := range answer.Data.Permissions.Subscribe.Allow {
		if w := strings.Split(s, "."); len(w) == 5 && w[0] == prefix && w[1] == "k" {
			c.members.keys[w[4]] = append(c.members.keys[w[4]], w[2]+"."+w[3], w[3])
		}
	}
	if len(c.members.keys) == 0 {
		return errors.New("the server does not say whose key is whose: its configuration is of an earlier release, or not of tipstaff engine config; print it anew")
	}
	return nil
}

// userInfo is where a member asks the server what it may.
const userInfo = "$SYS.REQ.USER.INFO"

// isGenuine reports whether a message of a stream is signed by a member whose it can be.
// What is not is counted. The error says why that cannot be known now.
func (c *Conn) isGenuine(ctx context.Context, m *nats.Msg, k StoredCopy) (bool, error) {
	if c.signer == nil || strings.HasPrefix(k.Subject, frozenKeys) { // those are signed by operators
		return true, nil
	}
	who, key, ok := signedBy(k.Subject, m)
	if owner := mayWrite(who, k.Subject); ok && owner != "" {
		his, anybodys, err := c.isMember(ctx, owner, key)
		if err != nil {
			return false, err
		}
		if his || !anybodys && c.began(k.Subject, key) == key {
			c.began(k.Subject, key)
			return true, nil
		}
	}
	c.countForeign(k)
	return false, nil
}

// began is the key that signed the first batch of a trail that was seen, which is this one
// if there was none. Batches outlast their members and their keys, so one that is nobody's
// now counts for the trails that it began. Of leases and claims none does.
func (c *Conn) began(subject, key string) string {
	if !strings.HasPrefix(subject, copyKeys) {
		return ""
	}
	c.keysMu.Lock()
	defer c.keysMu.Unlock()
	if c.firsts[subject] == "" {
		c.firsts[subject] = key
	}
	return c.firsts[subject]
}

// isAnswer reports whether a message is signed by the member that answers at its subject, if
// one does.
func (c *Conn) isAnswer(m *nats.Msg) bool {
	of := answerer(m.Subject)
	if of == "" || c.signer == nil {
		return true
	}
	who, key, ok := signedBy(m.Subject, m)
	if !ok || who != of {
		return false
	}
	his, _, err := c.isMember(context.Background(), who, key)
	return err == nil && his
}

// mayWrite returns whose key has to have signed a message at a subject that who claims to
// have written; "": it cannot be of who.
func mayWrite(who, subject string) (owner string) {
	role, name, _ := strings.Cut(who, ".")
	words := strings.Split(subject, ".")
	switch {
	case strings.HasPrefix(subject, leaseKeys+who+"."), strings.HasPrefix(subject, claimKeys) && role == Gateway.letter():
		return who
	case strings.HasPrefix(subject, copyKeys) && len(words) == 5 && words[3] == name:
		return name // a process that is several has one trail
	}
	return ""
}

// countForeign counts what is passed over, and says so once a minute.
func (c *Conn) countForeign(k StoredCopy) {
	c.foreign.Add(1)
	c.keysMu.Lock()
	defer c.keysMu.Unlock()
	if c.opt.Log != nil && time.Since(c.toldForeign) > time.Minute {
		c.toldForeign = time.Now()
		c.opt.Log.Warn("a message is passed over: it is not signed by the member whose subject it is; a key may be misused", "subject", k.Subject, "sequence", k.Sequence)
	}
}
