//go:build linux

package interp

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

var errPermission error = syscall.EACCES

// find is the job that %1, %+ or a number stands for, among those of this shell.
func (s *Shell) ownJob(text string) *job {
	if rest, is := strings.CutPrefix(text, "%"); is {
		if rest == "" || rest == "+" || rest == "%" {
			if n := len(s.jobs); n > 0 {
				return s.jobs[n-1]
			}
			return nil
		}
		id, err := strconv.Atoi(rest)
		for _, j := range slices.Backward(s.jobs) {
			if err == nil && j.id == id {
				return j
			}
		}
		return nil
	}
	n, err := strconv.Atoi(text)
	if j := s.byProcess(n); err == nil && j != nil && slices.Contains(s.jobs, j) {
		return j
	}
	return nil
}

// wait waits for jobs, and has the status of the last that is named.
func wait(s *Shell, a []string) int {
	args := a[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		for _, j := range s.jobs {
			<-j.done
		}
		s.jobs = nil
		return 0
	}
	status := 0
	for _, text := range args {
		if strings.HasPrefix(text, "-") {
			return s.unsupported("wait", text, "wait and wait NUMBER are.")
		}
		j := s.ownJob(text)
		if j == nil {
			if _, err := strconv.Atoi(text); err != nil {
				if strings.HasPrefix(text, "%") {
					s.errorf("wait: %s: no such job", text)
					status = 127
					continue
				}
				s.errorf("wait: `%s': not a pid or valid job spec", text)
				status = 1
				continue
			}
			s.errorf("wait: pid %s is not a child of this shell", text)
			status = 127
			continue
		}
		<-j.done
		status = j.status
	}
	return status
}

// kill sends signals to jobs. What is no job of the script is a matter of the
// program kill, which is decided like any other.
func kill(s *Shell, a []string) int {
	number, args := 15, a[1:]
	if len(args) > 0 && (args[0] == "-l" || args[0] == "-L") {
		return listSignals(s, args[1:])
	}
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		name := args[0][1:]
		args = args[1:]
		if name == "s" || name == "n" {
			if len(args) == 0 {
				return s.usage("kill", "-%s: option requires an argument", name)
			}
			name, args = args[0], args[1:]
		}
		n, ok := signalNumber(name)
		if !ok {
			s.errorf("kill: %s: invalid signal specification", name)
			return 1
		}
		number = n
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return s.usage("kill", "usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ...")
	}
	status := 1
	for _, text := range args {
		if s.killOne(number, text) == 0 {
			status = 0
		}
	}
	return status
}

func (s *Shell) killOne(number int, text string) int {
	n, err := strconv.Atoi(text)
	var j *job
	switch {
	case strings.HasPrefix(text, "%"):
		if j = s.ownJob(text); j == nil {
			s.errorf("kill: %s: no such job", text)
			return 1
		}
	case err != nil:
		s.errorf("kill: %s: arguments must be process or job IDs", text)
		return 1
	case n == os.Getpid():
		if number == 0 {
			return 0
		}
		if ends(number) {
			s.killed.Store(int64(number))
		}
		s.stops()
		return 0
	default:
		j = s.byProcess(n)
	}
	if j != nil {
		if !j.signal(number) {
			s.errorf("kill: (%s) - No such process", text)
			return 1
		}
		return 0
	}
	if n > beyond {
		s.errorf("kill: (%s) - No such process", text)
		return 1
	}
	s.program([]string{"kill", "-" + strconv.Itoa(number), "--", text})
	return s.status
}

func listSignals(s *Shell, args []string) int {
	if len(args) == 0 {
		return s.unsupported("kill", "a list of all signals", "kill -l NUMBER names one.")
	}
	for _, text := range args {
		n, ok := signalNumber(text)
		if _, err := strconv.Atoi(text); err == nil && n > 128 {
			n, ok = n-128, true
		}
		if !ok || n >= len(signals) {
			s.errorf("kill: %s: invalid signal specification", text)
			return 1
		}
		answer := strconv.Itoa(n)
		if _, err := strconv.Atoi(text); err == nil {
			answer = signals[n]
		}
		if w := s.wrote(answer + "\n"); w != 0 {
			return w
		}
	}
	return 0
}

// jobs lists the jobs that run.
func jobs(s *Shell, a []string) int {
	numbers := false
	for _, opt := range a[1:] {
		switch opt {
		case "-p":
			numbers = true
		case "-r":
		default:
			return s.unsupported("jobs", opt, "jobs, jobs -p and jobs -r are.")
		}
	}
	var running []*job
	for _, j := range s.jobs {
		if !j.ended() {
			running = append(running, j)
		}
	}
	for i, j := range running {
		mark := " "
		switch i {
		case len(running) - 1:
			mark = "+"
		case len(running) - 2:
			mark = "-"
		}
		line := "[" + strconv.Itoa(j.id) + "]" + mark + "  Running                 " + j.text + " &\n"
		if numbers {
			line = strconv.Itoa((&lastJob{j}).number()) + "\n"
		}
		if w := s.wrote(line); w != 0 {
			return w
		}
	}
	return 0
}
