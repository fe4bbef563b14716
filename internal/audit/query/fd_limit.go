package query

// maxOpenFiles is how many files a merge has open at once: thousands of trails can
// overlap, and a process may have as few as 256 descriptors, which also its buffers
// should not multiply by.
const maxOpenFiles = 64

// limitFiles closes a file if too many are open: that of the trail whose next record is
// the last one of all to be read. It is opened again when its turn comes.
func (m *merge) limitFiles(but *source) {
	if m.files < maxOpenFiles {
		return
	}
	var last *source
	for _, s := range m.open {
		if s == but || s.lines == nil {
			continue
		}
		if last == nil || m.isAfter(s, last) {
			last = s
		}
	}
	if last != nil {
		last.suspend()
	}
}

// isAfter reports whether the record of a comes after that of b in the order of the
// merge.
func (m *merge) isAfter(a, b *source) bool {
	if m.reverse {
		a, b = b, a
	}
	return a.line.Record.Time.After(b.line.Record.Time)
}

// suspend closes the file of s and keeps its place. Its current line stays.
func (s *source) suspend() {
	s.part.from, s.part.to = s.lines.rest(s.part)
	s.suspended = true
	s.close()
}
