package trailread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/recording"
)

// ErrNoRecording is returned by [Recording] if none of the trails has one.
var ErrNoRecording = errors.New("there is no such recording")

// AlteredError says that a file is not the recording that the trail refers to.
type AlteredError struct {
	File      string
	Got, Want string // SHA-256; Want is "" if no record speaks of a recording
}

func (e *AlteredError) Error() string {
	return fmt.Sprintf("%s is not the recording that the trail speaks of: its SHA-256 is %s, recorded is %q", e.File, e.Got, e.Want)
}

// Recording returns the path of a command's recording, after comparing its hash
// with the record of the command's end. If they differ, the error is an
// [AlteredError]; if there is no recording, [ErrNoRecording]. It does not
// verify the trail itself; use [audit.Verify].
func Recording(ctx context.Context, trails []Trail, command string) (string, error) {
	for _, trail := range trails {
		file := recording.File(trail.Path, command)
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("cannot read the recording: %w", err)
		}
		want, err := recordedSum(ctx, trail, command, file)
		if err != nil {
			return "", fmt.Errorf("cannot read the trail: %w", err)
		}
		if got := recording.Sum(data); got != want {
			return "", &AlteredError{file, got, want}
		}
		return file, nil
	}
	return "", ErrNoRecording
}

// recordedSum searches a trail for the hash of a command's recording; "" if no
// record has one. The end of a command comes after the beginning that its
// recording names, so what is older is read only if nothing is found.
func recordedSum(ctx context.Context, trail Trail, command, file string) (sum string, err error) {
	want := Filter{Command: command, Event: Word{Text: string(audit.CommandEnd)}}
	search := func() error {
		_, err := Read(ctx, []Trail{trail}, &want, func(l *Line) error {
			if l.Record.Result != nil {
				sum = l.Record.Result.RecordingSHA256
			}
			return nil
		})
		return err
	}
	if head, wrong := recording.ReadHead(file); wrong == nil {
		want.Since = head.Began.Add(-time.Minute)
		err = search()
	}
	if sum == "" && err == nil {
		want.Since = time.Time{}
		err = search()
	}
	return sum, err
}
