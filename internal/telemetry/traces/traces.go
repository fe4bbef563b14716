package traces

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces makes spans and sends them. Its methods may be called concurrently. A
// nil *Traces makes no spans and wraps nothing.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// farewell bounds the time for sending the last spans when the server ends.
const farewell = time.Second

// Open starts sending spans to a collector. Failures to send are logged. The
// caller closes the Traces.
func Open(ctx context.Context, to *Collector, version string, log *slog.Logger) (*Traces, error) {
	// Without these two settings, which are global in the library, it would
	// write to standard error in a format of its own.
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("traces are not sent", "error", err)
	}))
	exporter, err := otlptrace.New(ctx, newClient(to))
	if err != nil {
		return nil, fmt.Errorf("cannot send traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "tipstaff"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // OTEL_SERVICE_NAME comes last, so it takes precedence
	if err != nil {
		log.Warn("a part of OTEL_RESOURCE_ATTRIBUTES cannot be understood", "error", err)
	}
	return open(sdktrace.NewBatchSpanProcessor(exporter), about, version), nil
}

func open(p sdktrace.SpanProcessor, about *resource.Resource, version string) *Traces {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithResource(about))
	return &Traces{provider, provider.Tracer("tipstaff", trace.WithInstrumentationVersion(version))}
}

// Close sends the remaining spans, for a second at most.
func (t *Traces) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("cannot send the last traces: %w", err)
	}
	return nil
}
