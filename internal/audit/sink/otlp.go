package sink

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// OTLP posts messages as log records to an OpenTelemetry collector, in binary
// protobuf over HTTP. It implements the protocol itself, because an SDK would
// add a second queue, whose losses are not counted.
type OTLP struct {
	poster  *poster
	version string
}

// NewOTLP returns a sink to the logs address of a collector (…/v1/logs). The
// headers are sent with each request.
func NewOTLP(address *url.URL, headers map[string]string, version string) *OTLP {
	all := map[string]string{"Content-Type": "application/x-protobuf"}
	maps.Copy(all, headers)
	return &OTLP{poster: newPoster(address, all, nil, false), version: version}
}

// Name returns otlp and the host.
func (o *OTLP) Name() string { return "otlp " + o.poster.address.Host }

// Limits bounds a batch.
func (*OTLP) Limits() BatchLimits {
	return BatchLimits{Count: 512, Bytes: 512 << 10, Wait: time.Second}
}

// Send posts a batch. An answer 2xx means that the collector has it; the
// collector reports only the number of records that it rejected.
func (o *OTLP) Send(ctx context.Context, batch []Message) (int, error) {
	body, err := proto.Marshal(o.encode(batch))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errRefused, err)
	}
	answer, err := o.poster.post(ctx, body, nil)
	if err != nil {
		return 0, err
	}
	if n := rejected(answer); n > 0 {
		return len(batch), partialError(min(n, uint64(len(batch))))
	}
	return len(batch), nil
}

// Close closes idle connections.
func (o *OTLP) Close() error {
	o.poster.close()
	return nil
}

// encode returns what the protocol calls ExportLogsServiceRequest. LogsData has
// the same wire format, and its package does not depend on gRPC.
func (o *OTLP) encode(batch []Message) *logs.LogsData {
	records := make([]*logs.LogRecord, len(batch))
	for i, m := range batch {
		records[i] = logRecord(m)
	}
	return &logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{
		Resource: &resource.Resource{Attributes: attributes(
			"service.name", appName, "service.version", o.version, "service.instance.id", batch[0].Trail)},
		ScopeLogs: []*logs.ScopeLogs{{
			Scope:      &common.InstrumentationScope{Name: "tipstaff/audit", Version: o.version},
			LogRecords: records,
		}},
	}}}
}

func logRecord(m Message) *logs.LogRecord {
	f := m.facts()
	r := &logs.LogRecord{
		TimeUnixNano:         uint64(max(0, f.time.UnixNano())),
		ObservedTimeUnixNano: uint64(max(0, m.At.UnixNano())),
		Body:                 textValue(string(m.Body)),
		EventName:            appName + "." + f.event,
		Attributes: attributes(
			"tipstaff.trail", m.Trail, "tipstaff.event", f.event, "tipstaff.code", f.code, "tipstaff.name", f.name,
			"tipstaff.session", f.session, "tipstaff.command_id", f.command),
	}
	r.SeverityNumber, r.SeverityText = logSeverity(f.severity)
	if m.Seq > 0 {
		r.Attributes = append(r.Attributes, &common.KeyValue{Key: "tipstaff.seq", Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: int64(m.Seq)}}})
	}
	r.TraceId, r.SpanId = traceOf(f.trace)
	return r
}

func logSeverity(s severity) (logs.SeverityNumber, string) {
	switch s {
	case warning:
		return logs.SeverityNumber_SEVERITY_NUMBER_WARN, "WARN"
	case notice:
		return logs.SeverityNumber_SEVERITY_NUMBER_INFO2, "NOTICE"
	}
	return logs.SeverityNumber_SEVERITY_NUMBER_INFO, "INFO"
}

// traceOf parses a W3C traceparent; an invalid one gives nil.
func traceOf(parent string) (trace, span []byte) {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || len(parts[2]) != 16 {
		return nil, nil
	}
	trace, err := hex.DecodeString(parts[1])
	if err != nil {
		return nil, nil
	}
	if span, err = hex.DecodeString(parts[2]); err != nil {
		return nil, nil
	}
	return trace, span
}

// attributes takes names and values alternately; empty values are left out.
func attributes(pairs ...string) []*common.KeyValue {
	var out []*common.KeyValue
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, &common.KeyValue{Key: pairs[i], Value: textValue(pairs[i+1])})
		}
	}
	return out
}

func textValue(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(s, "\ufffd")}}
}

// rejected reads
// ExportLogsServiceResponse.partial_success.rejected_log_records; 0 if the
// answer is not such a response.
func rejected(answer []byte) uint64 {
	n, _ := protowire.ConsumeVarint(field(field(answer, 1, protowire.BytesType), 1, protowire.VarintType))
	return n
}

// field returns a field of a message: its content, or its encoded number.
func field(data []byte, want protowire.Number, kind protowire.Type) []byte {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, typ, data); n < 0 {
			return nil
		}
		if number == want && typ == kind {
			if kind == protowire.BytesType {
				value, _ := protowire.ConsumeBytes(data)
				return value
			}
			return data[:n]
		}
		data = data[n:]
	}
	return nil
}
