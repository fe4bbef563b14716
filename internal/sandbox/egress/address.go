package egress

import (
	"fmt"
	"net"
	"net/netip"
)

// special are the addresses that are not public, or that lead somewhere else
// than they seem to (IANA special-purpose address registries, and additions by
// cloud providers). The order matters: the first match is named.
var special = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"}, // 169.254.169.254: cloud metadata
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address shared behind a carrier"}, // 100.100.100.200: Alibaba's metadata
	{netip.MustParsePrefix("192.0.0.0/24"), "a protocol's own address"},            // 192.0.0.192: Oracle's metadata
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation address"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation address"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking address"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("168.63.129.16/32"), "an address of the cloud's own"}, // Azure's host, although in a public range
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"}, // including broadcast

	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"}, // fd00:ec2::254: Amazon's metadata
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation address"},
	{netip.MustParsePrefix("3fff::/20"), "a documentation address"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo tunnel"}, // contains IPv4 addresses
	{netip.MustParsePrefix("2002::/16"), "a 6to4 tunnel"},   // contains an IPv4 address
	{netip.MustParsePrefix("2001::/23"), "a protocol's own address"},
}

var (
	// public6 is all of IPv6 that has been allocated. Everything outside of it
	// is reserved, including all other ways to write an IPv4 address in IPv6.
	public6 = netip.MustParsePrefix("2000::/3")
	// nat64 addresses end with the IPv4 address that they stand for (RFC 6052);
	// in networks without IPv4, all of it can be reached this way.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// kindOf returns what is special about an address; "" means that it is public.
func kindOf(addr netip.Addr) string {
	if addr.Zone() != "" {
		return "a link-local address"
	}
	addr = plain(addr)
	for _, s := range special {
		if s.prefix.Contains(addr) {
			return s.kind
		}
	}
	if !addr.IsValid() || addr.Is6() && !public6.Contains(addr) {
		return "a reserved address"
	}
	return ""
}

// plain returns the IPv4 address that an IPv6 address contains, or addr itself.
func plain(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}

// interfaces returns the addresses of this machine.
func interfaces() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("cannot read the addresses of this machine: %w", err)
	}
	var own []netip.Prefix
	for _, a := range addrs {
		if ipNet, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(ipNet.IP); ok {
				addr = addr.Unmap()
				own = append(own, netip.PrefixFrom(addr, addr.BitLen()))
			}
		}
	}
	return own, nil
}
