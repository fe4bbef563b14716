package query

// mostFiles is how many files a merge has open at once: thousands of trails can
// overlap, and a process may have as few as 256 descriptors, which also its buffers
// should not multiply by.
const mostFiles = 64

// makeRoom closes a file if too many are open: that of the trail whose next record is
// the last one of all to be read. It is opened again when its turn comes.
func (m *merge) makeRoom(but *source) {
	if m.files < mostFiles {
		return
	}
	var last *source
	for _, s := range m.open {
		if s == but || s.lines == nil {
			continue
		}
		if last == nil || m.later(s, last) {
			last = s
		}
	}
	if last != nil {
		last.park()
	}
}

// later reports whether the record of a comes after that of b in the order of the
// merge.
func (m *merge) later(a, b *source) bool {
	if m.back {
		a, b = b, a
	}
	return a.line.Record.Time.After(b.line.Record.Time)
}

// park closes the file of s and keeps its place. Its current line stays.
func (s *source) park() {
	s.part.from, s.part.to = s.lines.rest(s.part)
	s.parked = true
	s.close()
}
