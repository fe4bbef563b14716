package main

import (
	"errors"
	"fmt"
	"os"
	"time"
)

const maxRenames = 1_000_000

func rename(args []string) error {
	n, err := number(args, maxRenames)
	if err != nil || len(args) != 2 {
		return errors.Join(err, errors.New("renames N FILE"))
	}
	from, to := args[1], args[1]+".to"
	if err := os.WriteFile(from, nil, 0o600); err != nil {
		return err
	}
	began := time.Now()
	for range n {
		if err := os.Rename(from, to); err != nil {
			return err
		}
		from, to = to, from
	}
	fmt.Println(time.Since(began).Nanoseconds() / int64(max(n, 1)))
	return os.Remove(from)
}
