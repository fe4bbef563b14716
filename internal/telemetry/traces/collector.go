package traces

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Collector is where spans are sent. Use [ParseCollector] to make one.
type Collector struct {
	url     string
	headers http.Header // may contain credentials
	timeout time.Duration

	loopbackUsers []int
}

// LetListen says which users may listen on this machine beside this user and root.
func (c *Collector) LetListen(users []int) { c.loopbackUsers = users }

// ParseCollector finds the collector in the environment, each entry
// "NAME=value"; nil means none. The variables are those of OpenTelemetry. If
// they are set, but no spans can be sent, it returns an error, which does not
// contain addresses and headers, because these may contain passwords.
func ParseCollector(environ []string) (*Collector, error) {
	v := variables(environ)
	name, endpoint := v.signal("ENDPOINT")
	exporter := v["OTEL_TRACES_EXPORTER"]
	if endpoint == "" || strings.EqualFold(v["OTEL_SDK_DISABLED"], "true") || exporter == "none" {
		return nil, nil //nolint:nilnil // no collector, and nothing wrong with that
	}
	if exporter != "" && exporter != "otlp" {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER=%q: must be otlp or none", exporter)
	}
	if n, p := v.signal("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("%s=%q: must be http/protobuf; collectors listen for it on port 4318", n, p)
	}
	if n, _ := v.signal("CERTIFICATE"); n != "" {
		return nil, fmt.Errorf("%s is not supported: the machine's certificates count, or those that SSL_CERT_FILE names", n)
	}
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New(name + `: must be a URL, as "http://localhost:4318"`)
	}
	if name == allSignals+"ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	c := &Collector{url: u.String(), timeout: 10 * time.Second}
	if n, t := v.signal("TIMEOUT"); t != "" {
		ms, err := strconv.ParseUint(t, 10, 31)
		if err != nil || ms == 0 {
			return nil, fmt.Errorf("%s=%q: must be a positive number of milliseconds", n, t)
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	n, list := v.signal("HEADERS")
	if c.headers, err = parseHeaders(list); err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	return c, nil
}

const (
	allSignals = "OTEL_EXPORTER_OTLP_"
	ofTraces   = "OTEL_EXPORTER_OTLP_TRACES_"
)

type environment map[string]string

func variables(environ []string) environment {
	v := environment{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if _, dup := v[name]; !dup {
			v[name] = strings.TrimSpace(value)
		}
	}
	return v
}

// signal returns the variable for traces, or else the one for all signals, and
// its value.
func (v environment) signal(name string) (string, string) {
	for _, n := range []string{ofTraces + name, allSignals + name} {
		if v[n] != "" {
			return n, v[n]
		}
	}
	return "", ""
}

// parseHeaders parses "name=value,name=value"; values are percent-encoded.
func parseHeaders(list string) (http.Header, error) {
	h := http.Header{}
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || !token(name) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, errors.New(`must be headers as "name=value,name=value", with values percent-encoded`)
		}
		h.Set(name, value)
	}
	return h, nil
}

// token reports whether s is valid as the name of a header.
func token(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(marks, c)
	}) < 0
}
