package sink

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"tipstaff/internal/peer"
)

// Settings say which sinks there are, and configure them.
type Settings struct {
	// Sinks is a comma-separated list; see [Parse].
	Sinks string
	// Secret is the key that webhook requests are signed with.
	Secret []byte
	// LogsEndpoint is OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: the full address.
	LogsEndpoint string
	// Endpoint is OTEL_EXPORTER_OTLP_ENDPOINT, to which v1/logs is added.
	Endpoint string
	// Headers are OTEL_EXPORTER_OTLP_HEADERS and …_LOGS_HEADERS, as written.
	Headers []string
	// Protocols are OTEL_EXPORTER_OTLP_PROTOCOL and …_LOGS_PROTOCOL.
	Protocols []string
	// Stderr is where "stderr" writes. Priorities says that the journal reads
	// it.
	Stderr     io.Writer
	Priorities bool
	Version    string
	// LoopbackUsers are those that may listen on this machine beside this user and root.
	LoopbackUsers []int
}

// listened is a sink whose peer may be another process of this machine.
type listened interface{ listeners() *peer.Dialer }

func (s *Syslog) listeners() *peer.Dialer  { return s.link.dialer }
func (w *Webhook) listeners() *peer.Dialer { return w.poster.dialer }
func (o *OTLP) listeners() *peer.Dialer    { return o.poster.dialer }

// known lists the possible items.
const known = `stderr, journald, syslog:///dev/log, syslog+udp://HOST:514, syslog+tcp://HOST:601, syslog+tls://HOST:6514, otlp, https://HOST/PATH`

// Parse makes the sinks of a list. It connects to none of them: a peer that is
// down does not make a setting invalid. The error names every item that cannot
// be used.
func Parse(s Settings) ([]Sink, error) {
	var sinks []Sink
	var faults []error
	seen := map[string]bool{}
	for item := range strings.SplitSeq(s.Sinks, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		one, err := s.parse(item)
		if err == nil && seen[item] {
			err = errors.New("stands twice in the list; take one away, or every record is delivered twice")
		}
		seen[item] = true
		if err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", shown(item), err))
			continue
		}
		if l, ok := one.(listened); ok {
			l.listeners().Users = s.LoopbackUsers
		}
		sinks = append(sinks, one)
	}
	return sinks, errors.Join(faults...)
}

func (s *Settings) parse(item string) (Sink, error) {
	switch item {
	case "stderr":
		return &Stream{W: s.Stderr, Priorities: s.Priorities}, nil
	case "journald":
		return NewJournal(""), nil
	case "otlp":
		return s.otlp()
	}
	u, err := url.Parse(item)
	if err != nil {
		return nil, fmt.Errorf("is no address; a sink is one of %s", known)
	}
	switch {
	case strings.HasPrefix(u.Scheme, "syslog"):
		return syslog(item, u)
	case u.Scheme == "https" || u.Scheme == "http":
		return s.webhook(u)
	}
	return nil, fmt.Errorf("is not known; a sink is one of %s", known)
}

// syslogPorts are the default ports.
var syslogPorts = map[string]string{"syslog+udp": "514", "syslog+tcp": "601", "syslog+tls": "6514"}

func syslog(item string, u *url.URL) (Sink, error) {
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("has more than an address; write it as syslog+tcp://logs.example.com:601")
	}
	if u.Scheme == "syslog" {
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.Path == "/" {
			return nil, errors.New("must be a path with three slashes before it, as syslog:///dev/log; for another machine write syslog+udp://, syslog+tcp:// or syslog+tls://")
		}
		return NewSyslog(item, "unixgram", u.Path, nil), nil
	}
	port, ok := syslogPorts[u.Scheme]
	switch {
	case !ok:
		return nil, fmt.Errorf("is not known; a sink is one of %s", known)
	case u.Hostname() == "" || strings.Trim(u.Path, "/") != "":
		return nil, fmt.Errorf("must be a host, as %s://logs.example.com:%s", u.Scheme, port)
	case u.Port() != "":
		port = u.Port()
	}
	address := net.JoinHostPort(u.Hostname(), port)
	switch u.Scheme {
	case "syslog+udp":
		return NewSyslog(item, "udp", address, nil), nil
	case "syslog+tls":
		return NewSyslog(item, "tcp", address, &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}), nil
	}
	return NewSyslog(item, "tcp", address, nil), nil
}

func (s *Settings) webhook(u *url.URL) (Sink, error) {
	switch {
	case u.Hostname() == "":
		return nil, errors.New("names no host; write it as https://logs.example.com/tipstaff")
	case u.User != nil:
		return nil, errors.New("has a password in it, which would be seen in logs and process lists; batches are signed with the secret in TIPSTAFF_AUDIT_WEBHOOK_SECRET_FILE instead")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, errors.New("would send records in the clear; http:// is for 127.0.0.1, [::1] and localhost, others get https://")
	case len(s.Secret) == 0:
		return nil, errors.New("needs a secret to sign with, or the receiver cannot tell whose records it gets: put 32 random bytes into a file (head -c 32 /dev/urandom | base64), mode 0600, and name it in TIPSTAFF_AUDIT_WEBHOOK_SECRET_FILE")
	}
	u.Fragment = ""
	return NewWebhook(u, s.Secret, nil), nil
}

func loopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && at.Unmap().IsLoopback()
}

func (s *Settings) otlp() (Sink, error) {
	for _, p := range s.Protocols {
		if p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("speaks http/protobuf, and OTEL_EXPORTER_OTLP_PROTOCOL or OTEL_EXPORTER_OTLP_LOGS_PROTOCOL asks for %q; set it to http/protobuf (collectors listen for that on port 4318)", p)
		}
	}
	name, text := "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", s.LogsEndpoint
	if text == "" {
		name, text = "OTEL_EXPORTER_OTLP_ENDPOINT", s.Endpoint
	}
	if text == "" {
		return nil, errors.New("needs the address of a collector: set OTEL_EXPORTER_OTLP_ENDPOINT, as http://localhost:4318")
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, fmt.Errorf("cannot use %s: it must be an address as https://collector.example.com:4318, without a password", name)
	}
	if s.LogsEndpoint == "" {
		u = u.JoinPath("v1", "logs")
	}
	headers, err := parseHeaders(s.Headers)
	if err != nil {
		return nil, err
	}
	return NewOTLP(u, headers, s.Version), nil
}

// parseHeaders parses lists of the form "name=value,name=value", with values
// percent-encoded. Later lists override earlier ones.
func parseHeaders(lists []string) (map[string]string, error) {
	all := map[string]string{}
	for _, list := range lists {
		for item := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(item) == "" {
				continue
			}
			name, value, ok := strings.Cut(item, "=")
			value, err := url.PathUnescape(strings.TrimSpace(value))
			name = strings.TrimSpace(name)
			if !ok || err != nil || name == "" || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, " :") {
				return nil, errors.New("cannot use OTEL_EXPORTER_OTLP_HEADERS or OTEL_EXPORTER_OTLP_LOGS_HEADERS: write name=value,name=value, with %20 and the like for what is no letter or digit")
			}
			all[name] = value
		}
	}
	return all, nil
}

// shown returns an item in a form for messages: an address without its secret
// parts.
func shown(item string) string {
	if u, err := url.Parse(item); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host + strings.Repeat("/…", min(1, len(strings.Trim(u.Path+u.RawQuery, "/"))))
	}
	return item
}
