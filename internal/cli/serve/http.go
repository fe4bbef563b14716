package serve

import (
	"cmp"

	"github.com/spf13/cobra"

	"tipstaff/internal/front/httpserver"
	"tipstaff/internal/server/config"
)

const httpFlag = "http"

func (o *Flags) declareHTTP(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.http, httpFlag, "", "serve over HTTP at `ADDRESS`: HOST:PORT, unix:PATH, or systemd for the sockets that it has opened (default TIPSTAFF_HTTP; alone "+httpserver.DefaultAddress+")")
	cmd.Flags().Lookup(httpFlag).NoOptDefVal = httpserver.DefaultAddress
}

// addressAlone accepts the address of --http as a separate word, which flags
// with an optional value do not allow.
func (*Flags) addressAlone(cmd *cobra.Command, args []string) error {
	if f := cmd.Flags().Lookup(httpFlag); len(args) == 1 && f.Changed && f.Value.String() == f.NoOptDefVal {
		return nil
	}
	return cobra.NoArgs(cmd, args)
}

// with returns the flags with the address that was a separate word.
func (o Flags) with(args []string) Flags {
	if len(args) == 1 {
		o.http = args[0]
	}
	return o
}

// httpAddress returns where to listen; the flag takes precedence over the
// environment. "" means not over HTTP.
func (o Flags) httpAddress(s config.Settings) string { return cmp.Or(o.http, s.HTTP.Address) }
