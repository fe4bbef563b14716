package sink

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Journal sends messages to journald by its native protocol, with searchable
// fields (journalctl TIPSTAFF_CODE=…).
type Journal struct{ link link }

// journalSocket is the socket that journald listens on.
const journalSocket = "/run/systemd/journal/socket"

// NewJournal returns a sink to the journal that listens at path; "" means the
// usual socket.
func NewJournal(path string) *Journal {
	if path == "" {
		path = journalSocket
	}
	return &Journal{link{network: "unixgram", address: path, dialer: newDialer()}}
}

// Name returns "journald".
func (*Journal) Name() string { return "journald" }

// Limits bounds a batch; each message is one datagram.
func (*Journal) Limits() BatchLimits { return BatchLimits{Count: 64, Bytes: 256 << 10} }

// Send writes one datagram for each message. When it returns, the kernel has
// them.
func (j *Journal) Send(ctx context.Context, batch []Message) (int, error) {
	for i, m := range batch {
		if err := j.link.write(ctx, journalEntry(m)); err != nil {
			if tooLong(err) {
				err = fmt.Errorf("%w: %v", errRefused, err)
			}
			return i, err
		}
	}
	return len(batch), nil
}

// Close closes the socket.
func (j *Journal) Close() error {
	j.link.close()
	return nil
}

// journalEntry returns the fields of one entry.
func journalEntry(m Message) []byte {
	f := m.facts()
	var b bytes.Buffer
	for _, field := range []struct{ name, value string }{
		{"MESSAGE", string(m.Body)},
		{"PRIORITY", strconv.Itoa(int(f.severity))},
		{"SYSLOG_IDENTIFIER", appName},
		{"SYSLOG_FACILITY", strconv.Itoa(facility)},
		{"TIPSTAFF_TRAIL", m.Trail},
		{"TIPSTAFF_SEQ", seqText(m.Seq)},
		{"TIPSTAFF_EVENT", f.event},
		{"TIPSTAFF_CODE", f.code},
		{"TIPSTAFF_NAME", f.name},
		{"TIPSTAFF_SESSION", f.session},
		{"TIPSTAFF_COMMAND_ID", f.command},
	} {
		if field.value == "" {
			continue
		}
		// The form with a length allows every value, including newlines.
		b.WriteString(field.name + "\n")
		_ = binary.Write(&b, binary.LittleEndian, uint64(len(field.value)))
		b.WriteString(field.value + "\n")
	}
	return b.Bytes()
}

func seqText(seq uint64) string {
	if seq == 0 {
		return ""
	}
	return strconv.FormatUint(seq, 10)
}
