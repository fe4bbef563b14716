package main

import (
	"fmt"
	"runtime"
	"sync"
)

// crowd counts as many processes to the kernel, and takes little memory.
func crowd(args []string) error {
	n, err := number(args, maxCrowd)
	if err != nil {
		return err
	}
	var there sync.WaitGroup
	for range n {
		there.Add(1)
		go func() {
			runtime.LockOSThread()
			there.Done()
			select {}
		}()
	}
	there.Wait()
	fmt.Println("ready")
	return forever()
}
