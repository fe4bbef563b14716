package config

import (
	"slices"
	"strings"
	"testing"
)

func TestSinksGetTheirSettingsAsTheyAreWritten(t *testing.T) {
	s, err := FromEnvironment([]string{
		"HOME=/h", "TIPSTAFF_AUDIT_SINKS= stderr,otlp", "TIPSTAFF_AUDIT_WEBHOOK_SECRET_FILE=/etc/secret", "JOURNAL_STREAM=8:42",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://b", "OTEL_EXPORTER_OTLP_HEADERS=x=1", "OTEL_EXPORTER_OTLP_LOGS_HEADERS=y=2",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http/protobuf",
	})
	if err != nil {
		t.Fatal(err)
	}
	o := s.SinkOTLP
	if s.AuditSinks != " stderr,otlp" || s.AuditWebhookSecretFile != "/etc/secret" || s.JournalStream != "8:42" || o.Endpoint != "http://a" || o.LogsEndpoint != "http://b" ||
		!slices.Equal(o.Headers, []string{"x=1", "y=2"}) || !slices.Equal(o.Protocols, []string{"http/protobuf"}) {
		t.Errorf("%+v", s)
	}
	_, err = FromEnvironment([]string{"HOME=/h", "TIPSTAFF_AUDIT_WEBHOOK_SECRET_FILE=secret"})
	if err == nil || !strings.Contains(err.Error(), "TIPSTAFF_AUDIT_WEBHOOK_SECRET_FILE=\"secret\": must be an absolute path") {
		t.Errorf("a relative path: %v", err)
	}
}
