//go:build linux && (amd64 || arm64)

package proc

import (
	"testing"
	"time"
)

// TestALoadIsThatOfAllProcessesOfACommand, by every means by which they are found: also
// of those that have left its session and its parents, and of no other command.
func TestALoadIsThatOfAllProcessesOfACommand(t *testing.T) {
	for name, e := range kinds(t) {
		if name != "best" && name != "marks" && name != "namespaces" {
			continue // they find processes by the same means
		}
		t.Run(name, func(t *testing.T) {
			other := talk(t, e, "sh", "-c", "echo; sleep 60; true")
			other.says()
			c := talk(t, e, python(`
import os, time
big = bytearray(32 << 20)
for i in range(0, len(big), 4096): big[i] = 1
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        until = time.process_time() + 0.25 # the kernel tells whole hundredths, of each part
        while time.process_time() < until: pass
        print("done")
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(60)
`)...)
			c.says()
			var load Load
			eventually(t, "both processes count", func() bool {
				var err error
				if load, err = c.Load(); err != nil {
					t.Fatal(err)
				}
				return load.Processes == 2
			})
			if load.CPU < 200*time.Millisecond || load.CPU > 20*time.Second || load.Resident < 32<<20 || load.Resident > 1<<30 {
				t.Errorf("%+v", load)
			}
			c.End(0)
			if load, err := c.Load(); err != nil || load != (Load{}) {
				t.Errorf("after its end: %+v %v", load, err)
			}
		})
	}
}
