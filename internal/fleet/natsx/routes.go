package natsx

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"

	"tipstaff/internal/plainfile"
)

// leastSecret is how many bytes a secret of a cluster has at least.
const leastSecret = 16

// RouteUser is the name under which servers of a cluster know each other.
func (ServerConfig) RouteUser() string { return "servers" }

// ReadClusterSecret reads a file of any bytes, the same for all servers, and returns
// what is made of it for [ServerConfig.ClusterSecret]: letters and digits.
func ReadClusterSecret(file string) (string, error) {
	text, err := plainfile.Read(file, maxKeyFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the secret of the cluster: %w", err)
	}
	if len(text) < leastSecret {
		return "", fmt.Errorf("the secret of the cluster in %s has %d bytes, and needs %d or more that nobody guesses: head -c 32 /dev/urandom", file, len(text), leastSecret)
	}
	sum := sha256.Sum256(append([]byte("tipstaff cluster\x00"), text...))
	return hex.EncodeToString(sum[:]), nil
}

// checkRoutes wants a secret of a cluster: without one whoever reaches its port is
// one of its servers, and with certificates alone each member would be one.
func (c ServerConfig) checkRoutes() error {
	if (c.Cluster == "") != (c.ClusterSecret == "") {
		return errors.New("a cluster has a secret that its servers show each other, or every member could pose as a server: give both or none; --cluster-secret names a file with it, the same for all servers")
	}
	if c.Cluster == "" && len(c.Routes) > 0 {
		return errors.New("routes lead to the other servers of a cluster: give the cluster's name, too")
	}
	for _, r := range c.Routes {
		u, err := url.Parse(r)
		switch {
		case err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.Port() == "":
			return fmt.Errorf("%q is no route: it is nats://HOST:PORT of another server of the cluster", r)
		case u.User != nil:
			return fmt.Errorf("the route to %s has a user in it: the servers show each other the cluster's secret", u.Host)
		}
	}
	return nil
}

// KnownRoutes are the routes with what the servers show each other.
func (c ServerConfig) KnownRoutes() []string {
	var all []string
	for _, r := range c.Routes {
		u, err := url.Parse(r)
		if err != nil {
			continue // check has refused it
		}
		u.User = url.UserPassword(c.RouteUser(), c.ClusterSecret)
		all = append(all, u.String())
	}
	return all
}
