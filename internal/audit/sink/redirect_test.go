package sink_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"tipstaff/internal/audit/sink"
)

// TestARedirectSendsNoRecordElsewhere: a peer that answers with another address gets the
// records that it was sent, and the other address gets none. The control follows.
func TestARedirectSendsNoRecordElsewhere(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		peer := httptest.NewServer(http.RedirectHandler(other.URL, status))
		u, err := url.Parse(peer.URL)
		if err != nil {
			t.Fatal(err)
		}
		batch := []sink.Message{{Body: []byte(`{"seq":1}`)}}
		for _, s := range []sink.Sink{sink.NewWebhook(u, []byte("secret"), nil), sink.NewOTLP(u, nil, "1")} {
			if n, err := s.Send(t.Context(), batch); n != 0 || err == nil || elsewhere.Load() != 0 {
				t.Errorf("%s, %d: %d records were taken, %v, and %d came elsewhere", s.Name(), status, n, err, elsewhere.Load())
			}
			_ = s.Close()
		}
		res, err := http.Post(peer.URL, "text/plain", nil)
		if err != nil || elsewhere.Swap(0) != 1 {
			t.Errorf("the control came nowhere: %v", err)
		}
		_ = res.Body.Close()
		peer.Close()
	}
}
