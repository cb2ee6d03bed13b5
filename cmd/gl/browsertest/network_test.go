//go:build browser

package browsertest

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"greenlight/internal/base/httpguard"
	"greenlight/internal/base/testfiles"
)

// insideVariable is set in the test's own network.
const insideVariable = "GREENLIGHT_OWN_NETWORK"

// On a local network: TLS with a certificate of its own that stays the same, whose fingerprint the
// terminal shows, and a QR code. The network is a namespace of the test's own.
func TestLocalNetwork(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		script := `ip link set lo up && ip addr add 192.168.7.7/32 dev lo && exec "$@"`
		if out, err := exec.Command("unshare", "-rn", "sh", "-c", script, "sh", "true").CombinedOutput(); err != nil {
			t.Skipf("no network of its own (unshare, ip): %v %s", err, out)
		}
		cmd := exec.Command("unshare", "-rn", "sh", "-c", script, "sh", os.Args[0], "-test.run=^TestLocalNetwork$", "-test.v")
		cmd.Env = append(os.Environ(), insideVariable+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		testfiles.Check(t, err)
		return
	}
	w := newQuestions(t)
	screen := w.terminal(gl + " web --listen 192.168.7.7:8443")
	var link, shown string
	testfiles.Until(t, "a login link", func() bool {
		text := screen()
		link = regexp.MustCompile(`https://192\.168\.7\.7:8443/login/\S+`).FindString(text)
		shown = strings.Join(regexp.MustCompile(`SHA-256: ([0-9A-F:]+)`).FindStringSubmatch(text), " ")
		return link != "" && strings.ContainsAny(text, "▀▄█")
	})
	conn, err := tls.Dial("tcp", "192.168.7.7:8443", &tls.Config{InsecureSkipVerify: true})
	testfiles.Check(t, err)
	leaf := conn.ConnectionState().PeerCertificates[0]
	conn.Close()
	if print := httpguard.Fingerprint(tls.Certificate{Certificate: [][]byte{leaf.Raw}}); !strings.HasSuffix(shown, print) {
		t.Errorf("the terminal shows %q, and the certificate has %s", shown, print)
	}
	testfiles.Check(t, leaf.VerifyHostname("192.168.7.7"))
	stranger := newPage(t) // which doesn't know the certificate
	if err := chromedp.Do(stranger.ctx, chromedp.Navigate(link)); err == nil || !strings.Contains(err.Error(), "ERR_CERT") {
		t.Errorf("a browser takes any certificate: %v", err)
	}
	key := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	ctx, end, err := newBrowser("ignore-certificate-errors-spki-list=" + base64.StdEncoding.EncodeToString(key[:]))
	t.Cleanup(end)
	testfiles.Check(t, err)
	p := openPage(t, ctx).login(link)
	p.see("live")
	w.answer(p)
	p.fine()
}
