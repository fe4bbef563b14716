package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// throughProxy asks the proxy of the environment for HOST:PORT, and returns the
// first line of the answer; if the proxy connects, also the first data of the
// host.
func throughProxy(target string, connect bool) (string, error) {
	proxy, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil {
		return "", err
	}
	if proxy.Host == "" {
		return "there is no proxy", syscall.ENXIO
	}
	fd, err := dial(proxy.Host, syscall.SOCK_STREAM)
	if err != nil {
		return "dial", err
	}
	request := fmt.Sprintf("GET http://%[1]s/ HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n", target)
	if connect {
		request = fmt.Sprintf("CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n", target)
	}
	got, err := hear(fd, request+"\r\n")
	if err != nil {
		return got, err
	}
	line, rest, _ := strings.Cut(got, "\r\n")
	if !strings.Contains(line, " 200 ") {
		return line, nil
	}
	if connect { // now follows the host's data
		rest, err = hear(fd, "GET / HTTP/1.0\r\n\r\n")
	}
	_, body, _ := strings.Cut(rest, "\r\n\r\n")
	return line + ": " + body, err
}
