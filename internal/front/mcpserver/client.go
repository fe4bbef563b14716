package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Client calls the tools of a server through the complete protocol: of one in
// the same process, for the command line and the demonstration, or of one that
// was started as a client starts it, to see that it works.
type Client struct {
	session *mcp.ClientSession
	cancel  context.CancelFunc
	served  chan error
}

// Answer is the answer of a tool.
type Answer struct {
	Text    string
	IsError bool // the tool failed; Text says why
}

// Connect connects a new client to s. The caller closes it.
func Connect(ctx context.Context, s *Server, name string) (*Client, error) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	c := &Client{cancel: cancel, served: make(chan error, 1)}
	go func() {
		err := s.ServeStdio(ctx, fromClient, toClient)
		_ = toClient.CloseWithError(io.EOF)
		c.served <- err
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: s.opts.Version}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer, MaxLineLength: -1}, nil)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("cannot connect to the server of this process: %w", err)
	}
	c.session = session
	return c, nil
}

// ConnectTo connects a new client to the server that reads from to and writes to
// from. The caller closes it, and sees to the server.
func ConnectTo(ctx context.Context, from io.ReadCloser, to io.WriteCloser, name string) (*Client, error) {
	ctx, cancel := context.WithCancel(ctx)
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: from, Writer: to, MaxLineLength: -1}, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	return &Client{session: session, cancel: cancel}, nil
}

// Call calls one tool. args is a JSON object, or nil for none. The error is a
// protocol error, such as an unknown tool or a lost connection.
func (c *Client) Call(ctx context.Context, tool string, args json.RawMessage) (Answer, error) {
	if args == nil {
		args = json.RawMessage("{}")
	}
	res, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return Answer{}, err
	}
	var b strings.Builder
	for _, part := range res.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return Answer{Text: b.String(), IsError: res.IsError}, nil
}

// Tools lists the names of the tools that the server offers.
func (c *Client) Tools(ctx context.Context) ([]string, error) {
	res, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(res.Tools))
	for i, t := range res.Tools {
		names[i] = t.Name
	}
	return names, nil
}

// Close ends the connection, and waits for a server in the same process.
func (c *Client) Close() error {
	err := c.session.Close()
	c.cancel()
	if c.served == nil {
		return err
	}
	return <-c.served
}

// ToolNames lists the tools that a server has, those of terminal sessions only if
// it offers them. A server may offer fewer to some callers.
func ToolNames(sessions bool) []string {
	var names []string
	for _, t := range tools {
		if !t.app && (sessions || !t.session) {
			names = append(names, t.name)
		}
	}
	return names
}
