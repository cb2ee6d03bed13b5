package proc

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

func TestInodeOfAConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	near, far := netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(l.Addr().String())
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip(err)
	}
	if inodeOf(table, near, far) == "" {
		t.Errorf("%s to %s isn't in %s", near, far, table)
	}
	if got := inodeOf(table, far, netip.MustParseAddrPort("127.0.0.1:1")); got != "" {
		t.Errorf("found %s for nothing", got)
	}
}
