package proc

import "net/netip"

// OfConnection returns the processes at one end of a TCP connection: none, because macOS tells only
// root.
func OfConnection(_, _ netip.AddrPort) []int { return nil }
