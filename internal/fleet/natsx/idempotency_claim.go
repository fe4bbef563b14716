package natsx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// claimBucket holds which runner got a call whose id its caller has chosen. A key is
// written once and forgotten after ClaimTTL.
const (
	claimBucket = "tip1_claims"
	claimStream = "KV_" + claimBucket
	claimKeys   = "$KV." + claimBucket + "."
)

// ClaimTTL is how long a claim lasts.
const ClaimTTL = 24 * time.Hour

// claimBytes bounds the bucket: a claim takes about 200 bytes, so it holds those of
// 1.3 million calls a day, and when it is full, none is taken. Without a bound a caller
// could fill the disk that the leases' server needs. The server sets the bytes aside in
// its accounts only; the disk has what is written.
const claimBytes = 256 << 20

// makeClaims makes the bucket if it is not there. What is written there is never written
// over, by no key: what would be lost with a claim is that its call has run.
func (c *Conn) makeClaims(ctx context.Context, replicas int) error {
	return c.makeBucket(ctx, "claims", jetstream.StreamConfig{
		Name: claimStream, Description: "which runner got a call of tipstaff, by the id that its caller gave it", Subjects: []string{claimKeys + "*"},
		DiscardNewPerSubject: true, MaxAge: ClaimTTL, MaxBytes: claimBytes, Storage: jetstream.FileStorage, Replicas: replicas,
	})
}

// Claim writes that key belongs to a runner, unless it belongs to one already, and
// returns whose it is. An error leaves open whether it was written: a write that
// timed out may be applied later, so nothing may be sent to the runner then; the
// next Claim says whose the key is.
func (c *Conn) Claim(ctx context.Context, key string, a Address) (Address, error) {
	for {
		m := natsMsg(claimKeys+key, []byte(a.String()))
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
		_, err := c.js.PublishMsg(ctx, c.sign(m), jetstream.WithRetryAttempts(0))
		if err == nil {
			return a, nil
		}
		var refusal *jetstream.APIError
		if !errors.As(err, &refusal) || refusal.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence {
			return Address{}, streamError("cannot claim a call", err)
		}
		// A read may be older than the write that has won: then it is tried again.
		k, err := c.direct(ctx, claimStream, "$JS.API.DIRECT.GET."+claimStream+"."+claimKeys+key, nil)
		switch {
		case err == nil && k.Foreign: // an honest one cannot be below it, and may come no more
			return Address{}, fmt.Errorf("cannot read a claim: %w", ErrForeign)
		case err == nil:
			return ParseAddress(string(k.Data))
		}
		if !errors.Is(err, ErrNoCopy) {
			return Address{}, fmt.Errorf("cannot read a claim: %w", err)
		}
		select {
		case <-ctx.Done():
			return Address{}, fmt.Errorf("cannot read a claim: %w", context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
