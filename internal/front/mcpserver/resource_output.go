package mcpserver

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
	output "tipstaff/internal/output/clean"
	"tipstaff/internal/output/spool"
)

// outputURI is where the output of a command is, for clients that read
// resources.
const outputURI = "tipstaff://output/"

// resourceBytes is how much of an output one read gives, if the client asks for
// no other limit.
const resourceBytes = 256 << 10

// addOutputs offers the outputs of commands as resources. They are not listed:
// an answer that leaves something out names the one that has it.
func (s *Server) addOutputs() {
	if s.opts.Outputs == nil {
		return
	}
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "output", Title: "The output of a command",
		URITemplate: outputURI + "{command_id}{?offset,limit}",
		MIMEType:    "text/plain",
		Description: "What a command has printed so far, both streams in the order in which they came, secrets hidden: at most limit bytes from offset on. " +
			"next_offset in _meta is where the next part begins, total_bytes how much there is. An output is kept for an hour after the command's end.",
	}, s.readOutputResource)
}

// readOutputResource reads a part of an output. What belongs to another caller is
// not found, like what never was.
func (s *Server) readOutputResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id, offset, limit, err := outputPart(uri)
	if err != nil {
		return nil, err
	}
	o, err := s.outputOf(inboundOf(ctx), id)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	p, err := o.Read(offset, limit, spool.Both)
	if errors.Is(err, spool.ErrGone) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	meta := mcp.Meta{"offset": p.From, "next_offset": p.Next, "total_bytes": p.Total, "running": !o.Done()}
	if p.Lost {
		meta["lost"] = true
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: uri, MIMEType: "text/plain", Text: output.Valid(p.Text), Meta: meta,
	}}}, nil
}

// mayRead reports whether a principal has a right by which it could run the
// command whose output it reads.
func mayRead(p authn.Principal) bool { return p.May(authn.Execute) || p.May(authn.Sessions) }

// outputOf returns the output of a command of this caller.
func (s *Server) outputOf(in *inbound, id tipstaff.RequestID) (*spool.Output, error) {
	who := tipstaff.Origin{Front: in.peer.front, Principal: in.principal.Name, Call: in.callName()}
	if o, kept := s.opts.Outputs.Find(id); kept && mayRead(in.principal) && o.BelongsTo(who.Owner()) {
		return o, nil
	}
	return nil, spool.ErrGone
}

// outputPart reads which part of which output a URI means.
func outputPart(uri string) (id tipstaff.RequestID, offset int64, limit int, err error) {
	name, query, _ := strings.Cut(strings.TrimPrefix(uri, outputURI), "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", 0, 0, badURI("its query cannot be read")
	}
	limit = resourceBytes
	for key, all := range values {
		n, err := strconv.ParseInt(all[0], 10, 64)
		switch {
		case err != nil || n < 0 || len(all) > 1:
			return "", 0, 0, badURI(key + " must be given once, as a whole number that is not negative")
		case key == "offset":
			offset = n
		case key == "limit" && n > 0:
			limit = int(min(n, spool.MostText))
		default:
			return "", 0, 0, badURI("it may have offset, and limit above 0")
		}
	}
	return tipstaff.RequestID(name), offset, limit, nil
}

func badURI(why string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: uri: " + why}
}
