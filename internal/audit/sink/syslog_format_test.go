package sink

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tipstaff/internal/audit/events"
)

func lineOf(body string) Message {
	return newMessage(events.Event{Kind: events.Record, Trail: "20260101T120000Z-1-ab", Seq: 9, Data: []byte(body)}, "", time.Unix(0, 0))
}

func TestAMessageOfSyslogIsThatOfRFC5424(t *testing.T) {
	h := syslogHeader{host: "a host", pid: "4711"}
	got := string(h.format(lineOf(`{"seq":9,"time":"2026-01-01T12:00:00.123456789Z","event":"command.refused","code":"COMMAND_NOT_ALLOWED","name":"terminal:security:violation","who":{"session":"term-]\"\\-1"},"trace":{"command_id":"cmd_1"}}`)))
	want := `<108>1 2026-01-01T12:00:00.123456Z ahost tipstaff 4711 command.refused ` +
		`[tipstaff@32473 trail="20260101T120000Z-1-ab" seq="9" event="command.refused" code="COMMAND_NOT_ALLOWED" name="terminal:security:violation" session="term-\]\"\\-1" command="cmd_1"] ` + "\ufeff{"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string((syslogHeader{host: "\x00é", pid: ""}).format(lineOf(`{}`))); !strings.Contains(got, " - tipstaff - - [") {
		t.Errorf("got %s", got)
	}
}

func TestTheSeverityIsThatOfWhatHappened(t *testing.T) {
	for name, want := range map[string]string{"terminal:command:executed": "<110>", "terminal:command:failed": "<109>", "terminal:security:violation": "<108>", "": "<110>"} {
		if got := string(syslogHeader{}.format(lineOf(fmt.Sprintf(`{"event":"x","name":%q}`, name)))); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	loss := newMessage(events.Event{Kind: events.Lost, Count: 3, From: 4, To: 6}, "t", time.Unix(0, 0))
	if got := string(syslogHeader{}.format(loss)); !strings.HasPrefix(got, "<108>") || !strings.Contains(got, `lost 3 records, from seq 4 to 6; they are on the trail`) {
		t.Errorf("%s", got)
	}
}

func TestAMessageIsCutAtACharacterAndSaysByHowMuch(t *testing.T) {
	for pad := range 4 {
		body := `{"event":"command.end","x":"` + strings.Repeat("y", pad) + strings.Repeat("ü", 16<<10) + `"}`
		got := syslogHeader{host: "h", pid: "1"}.format(lineOf(body))
		_, text, _ := strings.Cut(string(got), "\ufeff")
		if len(got) > maxSyslog || len(got) < maxSyslog-20 || !utf8.Valid(got) || !strings.Contains(string(got), fmt.Sprintf(` cut="%d"]`, len(body)-len(text))) {
			t.Errorf("%d bytes, %d of text: %.300s", len(got), len(text), got)
		}
	}
}
