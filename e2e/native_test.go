//go:build unix

package e2e

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"
)

// nativeHistogram reads a histogram out of the protobuf format.
func nativeHistogram(t *testing.T, res *http.Response, name string) (*dto.Histogram, bool) {
	t.Helper()
	body := bufio.NewReader(res.Body)
	for {
		var family dto.MetricFamily
		switch err := protodelim.UnmarshalFrom(body, &family); {
		case errors.Is(err, io.EOF):
			return nil, false
		case err != nil:
			t.Fatal(err)
		case family.GetName() == name:
			return family.GetMetric()[0].GetHistogram(), true
		}
	}
}
