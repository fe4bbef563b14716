package audit

import (
	"encoding/json"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/redact"
)

func TestWhatAPersonSaidIsOnTheRecordWithoutSecrets(t *testing.T) {
	trail, err := Create(t.TempDir(), Options{Redactor: redact.New(map[string]string{"API_KEY": "correct-horse-battery-staple"})})
	if err != nil {
		t.Fatal(err)
	}
	said := Approval{Handle: "apr_1", Outcome: "denied", By: "ann", How: "host", Comment: "use correct-horse-battery-staple, not this"}
	appendAll(t, trail, Record{Event: CommandRefused, Code: tipstaff.ApprovalDenied, Decision: Decision{Action: "ask", Approval: &said}})
	var r Record
	if err := json.Unmarshal(content(t, trail), &r); err != nil {
		t.Fatal(err)
	}
	a := r.Decision.Approval
	if a == nil || a.Handle != "apr_1" || a.By != "ann" || a.How != "host" || strings.Contains(a.Comment, "battery") || !strings.HasPrefix(a.Comment, "use <redacted:") {
		t.Errorf("recorded as %+v", a)
	}
	if !strings.Contains(said.Comment, "battery") {
		t.Error("the caller's own value was changed")
	}
}

// TestTheNameSaysWhetherAPersonRefused (contract B14): a question that was not
// answered is no violation.
func TestTheNameSaysWhetherAPersonRefused(t *testing.T) {
	for _, c := range []struct {
		code tipstaff.Code
		a    *Approval
		want Name
	}{
		{tipstaff.ApprovalDenied, &Approval{Outcome: "denied", By: "ann"}, SecurityViolation},
		{tipstaff.ApprovalDenied, &Approval{Outcome: "expired"}, CommandFailed},
		{tipstaff.ApprovalDenied, &Approval{Outcome: "expired", By: "ann"}, CommandFailed}, // allowed, and never used
		{tipstaff.ApprovalDenied, nil, CommandFailed},
		{tipstaff.ApprovalRequired, &Approval{Outcome: "pending"}, CommandFailed},
	} {
		r := Record{Event: CommandRefused, Code: c.code, Decision: Decision{Approval: c.a}}
		if got := r.Named(); got != c.want {
			t.Errorf("%s %+v is %s, want %s", c.code, c.a, got, c.want)
		}
	}
	if got := (&Record{Event: CommandAsked}).Named(); got != "" {
		t.Errorf("a question is %s", got)
	}
}
