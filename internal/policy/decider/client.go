package decider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"

	"tipstaff/internal/peer"
	"tipstaff/internal/policy"
	"tipstaff/internal/redact"
)

// Options say where the decider is and how long it has.
type Options struct {
	// URL is the address; docs/decider.md has its forms.
	URL string
	// Timeout bounds a whole exchange, from the connection to the last byte of
	// the answer. 0: DefaultTimeout. At most MaxTimeout.
	Timeout time.Duration
	// Redactor hides secrets in arguments; with nil, secrets are recognised
	// only by the structure of arguments and the form of values.
	Redactor *redact.Redactor
	// LoopbackUsers are those that may listen on this machine beside this user and root.
	LoopbackUsers []int
	// Log is told when the decider stops answering, and when it answers again.
	Log *slog.Logger
}

// The bounds of a timeout.
const (
	DefaultTimeout = 500 * time.Millisecond
	MaxTimeout     = 10 * time.Second
)

// Bounds of an exchange.
const (
	longestAnswer  = 64 << 10
	longestHeaders = 16 << 10
	connections    = 64 // at once; a request that finds all in use waits as part of its timeout
	idle           = 16
)

// Client asks one decider. Its methods may be called from several goroutines at
// once.
type Client struct {
	address  address
	timeout  time.Duration
	redactor *redact.Redactor
	log      *slog.Logger
	http     http.Client

	mu   sync.Mutex
	dead bool // it has failed, and the operator was told
}

// New returns a client of the decider at o.URL. It connects only when it is
// first asked, so a decider that is down is no error here. The caller closes
// the client.
func New(o Options) (*Client, error) {
	at, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Timeout == 0:
		o.Timeout = DefaultTimeout
	case o.Timeout < 0 || o.Timeout > MaxTimeout:
		return nil, fmt.Errorf("has a timeout of %v, and must have one above 0 and of at most %v", o.Timeout, MaxTimeout)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{address: at, timeout: o.Timeout, redactor: o.Redactor, log: o.Log}
	c.http = http.Client{
		// No HTTP/2: a single silent connection would delay every later call.
		// Over HTTP/1.1 a failed exchange takes only its own connection with
		// it.
		Transport: &http.Transport{
			DialContext: at.dialer(o.LoopbackUsers), DisableCompression: true,
			MaxConnsPerHost: connections, MaxIdleConnsPerHost: idle, IdleConnTimeout: time.Minute,
			MaxResponseHeaderBytes: longestHeaders,
		},
		// Redirects are not followed: the operator has named one address, and
		// its answers must not name another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// dialer returns what connects to the decider and to nothing else. http:// reaches only
// this machine, whatever the host name resolves to, and there no command.
func (a address) dialer(users []int) func(ctx context.Context, network, host string) (net.Conn, error) {
	d := &peer.Dialer{Users: users}
	switch {
	case a.socket != "":
		return func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", a.socket) }
	case a.url.Scheme == "http":
		d.Control = refuseOthers
		return d.DialContext
	}
	return d.Dialer.DialContext // a certificate says who it is
}

// refuseOthers is called with the resolved address before a connection is made
// and refuses all but this machine's.
func refuseOthers(_, at string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(at)
	if err != nil || !to.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%s is another machine, and http:// is for this one; use https://", at)
	}
	return nil
}

// String returns the decider's address, for the operator.
func (c *Client) String() string { return c.address.String() }

// Judge asks about q. It takes at most the timeout, and returns at once when
// ctx is done. The finding allows only if the decider says so in an answer that
// is understood completely. If the decider could not be asked or its answer
// could not be used, the finding is a denial with the code
// [tipstaff.PolicyUnavailable].
func (c *Client) Judge(ctx context.Context, q policy.Case) policy.Finding {
	body, err := c.question(&q)
	if err != nil {
		return unsayable(err)
	}
	a, err := c.ask(ctx, body)
	if err != nil && ctx.Err() != nil {
		return cancelled(context.Cause(ctx))
	}
	c.tell(err)
	if err != nil {
		return unasked(err)
	}
	return a.finding()
}

// tell logs once that the decider fails, and once that it answers again.
func (c *Client) tell(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch dead := err != nil; {
	case dead && !c.dead:
		c.log.Error("the decider gives no usable answer; every command is refused until it does", "decider", c.String(), "error", err)
	case !dead && c.dead:
		c.log.Info("the decider answers again", "decider", c.String())
	}
	c.dead = err != nil
}

// errTimeout ends an exchange that takes longer than the timeout.
var errTimeout = errors.New("no whole answer in time")

// ask makes one exchange.
func (c *Client) ask(ctx context.Context, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	body, err := c.post(ctx, body)
	if late := context.Cause(ctx); err != nil && errors.Is(late, errTimeout) {
		return answer{}, fmt.Errorf("%w: more than %v (TIPSTAFF_DECIDER_TIMEOUT)", late, c.timeout)
	}
	if err != nil {
		return answer{}, err
	}
	a, err := understand(body)
	if err != nil {
		return answer{}, fmt.Errorf("the answer is not understood: %w", err)
	}
	return a, nil
}

// post sends a body and returns the body of the answer.
func (c *Client) post(ctx context.Context, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "tipstaff")
	// Asking twice is harmless: this key lets the transport repeat a request
	// that met a connection which the decider was closing. A header that is an
	// empty list is not sent.
	req.Header["Idempotency-Key"] = []string{}
	resp, err := c.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, whose query may hold a token
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := usable(resp); err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer+1))
	if len(answer) > longestAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes", longestAnswer)
	}
	return answer, err
}

// usable returns an error if a response cannot be a decider's answer.
func usable(resp *http.Response) error {
	switch kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case resp.StatusCode/100 == 3:
		return fmt.Errorf("the decider answered %d, a redirect, and those are not followed; set the address that it leads to", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the decider answered %d", resp.StatusCode)
	case err != nil || kind != "application/json":
		return fmt.Errorf("the answer is %q, not application/json", shown(resp.Header.Get("Content-Type"), longestName))
	}
	return nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
