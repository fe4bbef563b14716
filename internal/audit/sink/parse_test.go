package sink

import (
	"os"
	"strings"
	"testing"
)

func TestEveryKindOfSinkIsUnderstood(t *testing.T) {
	sinks, err := Parse(Settings{
		Sinks:  " stderr, journald,syslog:///dev/log,syslog+udp://logs.example.com,syslog+tcp://[::1]:1601,syslog+tls://logs.example.com,otlp,https://hooks.example.com/secret?token=x,http://127.0.0.1:8080/x,",
		Secret: []byte("0123456789abcdef"), Endpoint: "http://localhost:4318/base", Headers: []string{"authorization=Bearer%20x", "a=1,b=2"}, Stderr: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(sinks))
	for i, s := range sinks {
		names[i] = s.Name()
	}
	want := "stderr journald syslog:///dev/log syslog+udp://logs.example.com syslog+tcp://[::1]:1601 syslog+tls://logs.example.com otlp localhost:4318 https://hooks.example.com http://127.0.0.1:8080"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	udp, _ := sinks[3].(*Syslog)
	tls, _ := sinks[5].(*Syslog)
	if udp.link.address != "logs.example.com:514" || tls.link.address != "logs.example.com:6514" || tls.link.tls.ServerName != "logs.example.com" || tls.link.tls.InsecureSkipVerify {
		t.Errorf("%+v, %+v", udp.link, tls.link)
	}
	otlp, _ := sinks[6].(*OTLP)
	if otlp.poster.address.String() != "http://localhost:4318/base/v1/logs" || otlp.poster.headers["authorization"] != "Bearer x" || otlp.poster.headers["b"] != "2" {
		t.Errorf("%v, %v", otlp.poster.address, otlp.poster.headers)
	}
	if none, err := Parse(Settings{}); err != nil || len(none) != 0 {
		t.Errorf("nothing gave %v, %v", none, err)
	}
}

func TestWhatCannotBeUsedIsRefusedWithTheWayOut(t *testing.T) {
	good := Settings{Secret: []byte("0123456789abcdef"), Endpoint: "http://localhost:4318"}
	for item, want := range map[string]string{
		"stdout":                           "a sink is one of stderr, journald",
		"ftp://x":                          "a sink is one of",
		"syslog+quic://x:1":                "a sink is one of",
		"syslog://dev/log":                 "three slashes",
		"syslog:///":                       "three slashes",
		"syslog+udp://":                    "must be a host",
		"syslog+tcp://h/path":              "must be a host",
		"syslog+tcp://u@h":                 "more than an address",
		"http://logs.example.com/x":        "in the clear",
		"http://127.0.0.1.example.com/x":   "in the clear",
		"https:///x":                       "names no host",
		"https://user:hunter2@h/x":         "has a password",
		"stderr,stderr":                    "twice",
		"https://h/%zz":                    "is no address",
		"stderr,what,https://u:hunter2@hh": "what",
	} {
		s := good
		s.Sinks = item
		_, err := Parse(s)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", item, err)
		}
	}
	for want, s := range map[string]Settings{
		"TIPSTAFF_AUDIT_WEBHOOK_SECRET_FILE":                   {Sinks: "https://h/x"},
		"set OTEL_EXPORTER_OTLP_ENDPOINT":                      {Sinks: "otlp"},
		"cannot use OTEL_EXPORTER_OTLP_ENDPOINT":               {Sinks: "otlp", Endpoint: "localhost:4318"},
		"cannot use OTEL_EXPORTER_OTLP_LOGS_ENDPOINT":          {Sinks: "otlp", Endpoint: "http://x", LogsEndpoint: "grpc://x"},
		`asks for "grpc"`:                                      {Sinks: "otlp", Endpoint: "http://x", Protocols: []string{"grpc"}},
		"cannot use OTEL_EXPORTER_OTLP_HEADERS":                {Sinks: "otlp", Endpoint: "http://x", Headers: []string{"a"}},
		"OTEL_EXPORTER_OTLP_HEADERS or OTEL_EXPORTER_OTLP_LOG": {Sinks: "otlp", Endpoint: "http://x", Headers: []string{"a=x%0d%0aHost: y"}},
	} {
		if _, err := Parse(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
