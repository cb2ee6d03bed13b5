//go:build browser

package browsertest

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"greenlight/internal/base/httpguard"
	"greenlight/internal/base/testfiles"
)

// Spent budgets: of the run, of the day and of a slice. Each says what it waits for, and goes on
// with a higher one.
func TestBudgets(t *testing.T) {
	w := newWorld(t, built, "S-1", "S-2", "S-3")
	w.gl("settings", "set", "git.isolation", "shared")
	build := func(more string) {
		t.Helper()
		w.call("gl", "slice", "--watch", "--runner", "process", "--max", "1", "--agent", "rehearsal:here,step=1ms,cost=1.25"+more)
	}
	w.gl("budget", "run", "1")
	build("")
	w.serve()
	p := newPage(t).login(w.link())
	p.see("Nothing is launched until you raise the budget (budget: $1.25 spent of the run's $1.00")
	p.write("Dollars that a run may cost", "50")
	p.click("button", "Set the budget")
	p.see("The budget of a run is $50.00 now")
	p.see("Nothing waits for you.")
	p.fine()

	w.gl("budget", "slice", "1")
	build(",turns=S-2")
	w.gl("retry", "S-2")
	p.click("main a", "S-2 (Name of S-2) is waiting for its budget: $1.25 of $1.00 spent")
	p.write("Dollars that a slice may cost", "lots")
	p.click("button", "Set the budget")
	p.see(`"lots" isn't an amount of dollars`)
	p.click("main a", "S-2 (Name of S-2) is waiting for its budget")
	p.write("Dollars that a slice may cost", "9")
	p.click("button", "Set the budget")
	p.see("The budget of a slice is $9.00 now")
	w.is("S-2", "available")

	w.gl("budget", "day", "2")
	run := w.start("gl", "slice", "--watch", "--runner", "process", "--max", "1", "--agent", "rehearsal:here,step=1ms,cost=1.25")
	p.see("spent of the day's $2.00")
	p.write("Dollars that a day may cost", "50")
	p.click("button", "Set the budget")
	p.see("The budget of a day is $50.00 now")
	<-run.done // it went on
	w.is("S-3", "done")
	p.fine()
}

// A slice that runs: its log comes as it is written, as text; its agent is told something, and
// stopped.
func TestRunningSlice(t *testing.T) {
	w := newWorld(t, `
echo '<img src=x onerror="document.title=1"> <b>bold</b> `+"\x1b[31m"+`red'
until [ -e $WORK/second ]; do sleep 0.05; done
echo 'second line'
until [ -e $WORK/mend ]; do sleep 0.05; done
`+built, "S-1")
	w.start("gl", "slice", "--watch", "--runner", "process")
	w.is("S-1", "active")
	w.serve()
	p := newPage(t).login(w.link())
	p.click("nav a", "Board")
	p.click("main a", "S-1 Name of S-1")
	p.see(`<img src=x onerror="document.title=1"> <b>bold</b>`)
	testfiles.Put(t, w.dir, "second", "")
	p.see("second line")
	p.write("Say something to its agent", "mind the cache")
	p.click("button", "Say")
	p.until("the words are kept", func() bool { return p.count(".note:not(.bad)") == 1 })
	p.click("button", "Stop its agent")
	p.see("Nothing waits for you.") // it is ready again
	w.is("S-1", "available")
	p.fine()
}

// With a certificate: the browser accepts exactly that one.
func TestTLS(t *testing.T) {
	w := newQuestions(t)
	c, err := httpguard.OwnCertificate(w.dir, "127.0.0.1")
	testfiles.Check(t, err)
	pem := filepath.Join(w.dir, "127.0.0.1.pem")
	w.serve("--listen", "127.0.0.1:0", "--cert", pem, "--key", pem)
	if !strings.HasPrefix(w.web.at, "https://") {
		t.Fatal(w.web.at)
	}
	key := sha256.Sum256(c.Leaf.RawSubjectPublicKeyInfo)
	ctx, end, err := newBrowser("ignore-certificate-errors-spki-list=" + base64.StdEncoding.EncodeToString(key[:]))
	t.Cleanup(end)
	testfiles.Check(t, err)
	p := openPage(t, ctx)
	p.login(w.link())
	p.see("live")
	w.answer(p)
	p.fine()
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(w.web.at, "https://"), &tls.Config{MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true}); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is accepted")
	}
}

// A run with --web in a real tmux, with the built-in agent.
func TestWatchWeb(t *testing.T) {
	w := newWorld(t, built, "S-1", "S-2:S-1")
	screen := w.terminal(gl + " slice --watch --web --agent rehearsal:here,step=2s")
	link := ""
	testfiles.Until(t, "a login link in the run's pane", func() bool {
		link = regexp.MustCompile(`http://127\.0\.0\.1:\d+/login/\S+`).FindString(screen())
		return link != ""
	})
	p := newPage(t).login(link)
	p.click("nav a", "Board")
	p.see("Running (1)")
	p.see("S-1 Name of S-1")
	p.see("1/2 done")
	p.see("S-2 Name of S-2")
	p.see("The run has ended, and its pages with it. Run gl web in the project's directory")
	p.see("2/2 done") // it shows how the run ended
	p.see("Run none")
	w.is("S-2", "done")
	testfiles.Until(t, "the run says so, too", func() bool { return strings.Contains(screen(), "gl web shows them again") })
	p.shoot("ended-1440-light")
	w.serve()
	p.gone("The run has ended")
	p.see("live")
	p.fine()
}

// A log of 100 MB is shown in parts, in little time and memory.
func TestLargeLog(t *testing.T) {
	w := newWorld(t, `
awk 'BEGIN { for (i = 0; i < 1000000; i++) print "line " i " <script>alert(1)</script> ........................................................................" }'
`+built, "S-1")
	w.gl("slice", "--watch", "--runner", "process")
	w.is("S-1", "done")
	w.serve()
	p := newPage(t).login(w.link())
	began := time.Now()
	p.open(p.base() + "slice/S-1")
	p.see("line 999999 <script>")
	p.click("main a", "All of it")
	p.see("log of attempt 1")
	p.click("main a", "Older")
	p.gone("line 999999 <script>")
	p.click("main a", "Newer")
	p.see("line 999999 <script>")
	took := time.Since(began)
	if n := ask[int](p, `() => document.documentElement.outerHTML.length`); n > 1<<20 {
		t.Errorf("a part has %d bytes", n)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.web.Process.Pid))
	if err == nil {
		for line := range bytes.Lines(status) {
			if bytes.HasPrefix(line, []byte("VmHWM:")) {
				var kb int
				_, err := fmt.Sscan(string(line[6:]), &kb)
				testfiles.Check(t, err)
				t.Logf("four pages in %v, the server's memory is at most %d MB", took, kb>>10)
				if kb > 200<<10 {
					t.Errorf("%d MB", kb>>10)
				}
			}
		}
	}
	p.fine()
}

// count returns how many elements there are.
func (p *page) count(selector string) int {
	p.Helper()
	return ask[int](p, `s => document.querySelectorAll(s).length`, selector)
}

// base returns the address of the session's pages.
func (p *page) base() string {
	p.Helper()
	return ask[string](p, `() => location.origin + document.getElementById("main").dataset.base`)
}

// With 1,000 slices a page is painted within 200 ms, and 50 open pages cost nearly nothing.
func TestThousandSlices(t *testing.T) {
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprintf("S-%d", i+1))
	}
	w := newWorld(t, built, ids...)
	for _, id := range ids[:60] {
		path := filepath.Join(w.root, ".greenlight", "slices", id+".md")
		data, err := os.ReadFile(path)
		testfiles.Check(t, err)
		text := strings.Replace(string(data), "status: pending", "status: verifying\nstep: verifying\nwaiting_for: look at "+id, 1)
		testfiles.Check(t, os.WriteFile(path, []byte(text), 0o644))
	}
	w.serve()
	p := newPage(t).login(w.link())
	base := p.base()
	for _, path := range []string{"", "board", "slice/S-7"} {
		best := 1e9
		for range 7 {
			p.open(base + path)
			p.until("painted", func() bool {
				at := ask[float64](p, `() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime || 0`)
				if at > 0 {
					best = min(best, at)
				}
				return at > 0
			})
		}
		t.Logf("%q: first paint after %.0f ms (the best of 7)", path, best)
		if best > 200 {
			t.Errorf("%q: first paint after %.0f ms", path, best)
		}
	}
	for i := range 10 { // a browser opens six connections to a host, and each page keeps one
		if i > 0 {
			p = newPage(t).login(w.link())
		}
		for range 4 {
			tab, _ := chromedp.NewContext(p.ctx)
			testfiles.Check(t, chromedp.Do(tab, chromedp.Navigate(p.base()+"board")))
		}
	}
	before, now := w.cpu(), time.Now()
	time.Sleep(20 * time.Second)
	spent := w.cpu() - before
	t.Logf("50 pages: %v of CPU in %v", spent, time.Since(now))
	if spent > time.Since(now)/100 {
		t.Errorf("50 pages at rest cost %v in %v", spent, time.Since(now))
	}
	p.fine()
}

// cpu returns the CPU time of gl web so far; 0 where it can't be read.
func (w *world) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.web.Process.Pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var user, system int64
	_, err = fmt.Sscan(f[11]+" "+f[12], &user, &system)
	testfiles.Check(w, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}
