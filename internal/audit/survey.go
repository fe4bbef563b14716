package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// mark is the state of a trail behind a segment of it, as a verifier finds it.
type mark struct {
	segment string // its name
	report  TrailReport
	tree    tree
	chain   digest
	covered bool // a checkpoint covers everything up to here
}

// survey is what was found out about the part of a trail of which no statement speaks.
type survey struct {
	before checker // where it begins
	marks  []mark  // behind each of its segments
	end    mark    // where it ends
}

// survey verifies a trail from the first segment of which no statement speaks up to
// the given one; "": to the end of the trail. later is what later trails say of it. What
// does not verify gives an error: it is evidence, and has to stay.
func (t TrailFiles) survey(trusted trust, last string, later []predecessor) (s survey, err error) {
	w, err := t.witness(trusted, nil)
	if err != nil {
		return s, err
	}
	p, err := t.passing(trusted)
	if err != nil {
		return s, err
	}
	if w == nil {
		return s, errors.New("it has neither a key nor checkpoints")
	}
	if p != nil {
		p.blind = true
	}
	w.later = later
	c := &checker{in: t.in, report: TrailReport{Path: t.Path, Status: OK}, prev: origin(), witness: w, passing: p}
	s.before = c.clone()
	if err := s.read(c, t, last); err != nil {
		return s, err
	}
	if w.fault != nil && c.report.Fault == nil {
		c.fail(Tampered, *w.fault)
	}
	if c.report.Status == Tampered {
		return s, fmt.Errorf("it does not verify, and evidence stays where it is: %s", c.report.Fault)
	}
	s.end = c.mark("")
	return s, nil
}

// read takes the survey.
func (s *survey) read(c *checker, t TrailFiles, last string) error {
	if done, err := c.begin(); done || err != nil {
		return err
	}
	for i, path := range t.Segments {
		if last != "" && filepath.Base(path) > last {
			break
		}
		skip, err := c.enter(path)
		if err != nil {
			return err
		}
		if len(s.marks) == 0 {
			s.before = c.clone()
		}
		if skip {
			continue
		}
		if err := c.checkFile(Fault{File: path, Line: 1}, i == len(t.Segments)-1); err != nil {
			return err
		}
		s.marks = append(s.marks, c.mark(filepath.Base(path)))
		if c.report.Status == Tampered {
			break
		}
	}
	if last == "" {
		c.leave(len(t.Segments))
		c.finish()
	}
	return nil
}

// mark is the present state.
func (c *checker) mark(segment string) mark {
	w := c.witness
	return mark{segment, c.report, tree{w.tree.n, slices.Clone(w.tree.roots)}, c.prev, w.bare.Line == 0}
}
