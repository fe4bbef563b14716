package runner

// Live is told about a command while it runs. The zero Live listens to nothing.
type Live struct {
	// Started is called once, when a process has been started.
	Started func()
}

func (l Live) started() {
	if l.Started != nil {
		l.Started()
	}
}
