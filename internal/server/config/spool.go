package config

// The defaults of the spool, in bytes.
const (
	spoolBytes      = 64 << 20
	spoolTotalBytes = 1 << 30
)

func (r *reader) spool() Spool {
	const each, all = "TIPSTAFF_SPOOL_BYTES", "TIPSTAFF_SPOOL_TOTAL_BYTES"
	s := Spool{Bytes: r.bytes(each, spoolBytes, maxBytes), TotalBytes: r.bytes(all, spoolTotalBytes, maxBytes)}
	if s.Bytes > s.TotalBytes {
		if r.vars[each] != "" {
			r.fault(each, "must not be above %s, which is %d", all, s.TotalBytes)
		}
		s.Bytes = s.TotalBytes
	}
	switch r.text("TIPSTAFF_SPOOL", "on") {
	case "on":
	case "off":
		s.Off = true
	default:
		r.fault("TIPSTAFF_SPOOL", "must be on or off")
	}
	return s
}
