// Floor is the server that tipstaff is measured against: the smallest one that
// the protocol library allows, which runs a program with os/exec and returns
// what it printed. It decides nothing, records nothing and bounds nothing.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type input struct {
	File string   `json:"file"`
	Args []string `json:"args,omitempty"`
}

func run(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, in.File, in.Args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return nil, nil, err
	}
	text := fmt.Sprintf("exit_code: %d\nstdout: %q\nstderr: %q\n", cmd.ProcessState.ExitCode(), stdout.String(), stderr.String())
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func main() {
	address := flag.String("http", "", "serve over HTTP at this address, instead of standard input and output")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "floor", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "execute_process", Description: "Run a program."}, run)
	if *address != "" {
		log.Fatal(serveHTTP(*address, server))
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// serveHTTP answers clients of both eras of the protocol, and says where on
// standard error.
func serveHTTP(address string, server *mcp.Server) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	one := func(*http.Request) *mcp.Server { return server }
	stateful := mcp.NewStreamableHTTPHandler(one, nil)
	stateless := mcp.NewStreamableHTTPHandler(one, &mcp.StreamableHTTPOptions{Stateless: true})
	fmt.Fprintf(os.Stderr, "{\"address\":%q}\n", listener.Addr())
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			stateless.ServeHTTP(w, r)
		} else {
			stateful.ServeHTTP(w, r)
		}
	}))
}
