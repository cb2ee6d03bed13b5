//go:build browser

package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// newQuestions is a project with questions, and a slice that awaits review.
func newQuestions(t *testing.T) *world {
	w := newWorld(t, built, "S-1", "S-2", "S-3", "S-4")
	for id, question := range map[string]string{"S-1": "which currency?", "S-2": "which color?", "S-3": "which size?"} {
		w.gl("state", "set", id, "status=implementing", "step=implementing", "waiting_for="+question)
	}
	w.gl("state", "set", "S-4", "status=verifying", "step=verifying", "waiting_for=look at the mail")
	return w
}

// answer answers the question of S-1 by clicks.
func (w *world) answer(p *page) {
	w.Helper()
	p.click("main a", "S-1 (Name of S-1) asks")
	p.write("Your answer", "euro")
	p.click("button", "Answer")
	p.see("S-1 is answered")
	w.is("S-1", "available")
}

// Two people on two pages: the first decision holds, and the second person is told what has
// changed. What they were writing stays meanwhile.
func TestTwoPeople(t *testing.T) {
	w := newQuestions(t)
	w.serve()
	ann, bob := newPage(t).login(w.link()), newPage(t).login(w.link())
	for _, p := range []*page{ann, bob} {
		p.click("main a", "S-4 (Name of S-4) awaits review")
		p.see("Send back")
	}
	bob.write("What is wrong?", "too long")
	ann.click("summary", "Add a note")
	ann.write("A note for its decisions", "fine for the pilot")
	ann.click("button", "Accept")
	ann.see("S-4 is complete")
	w.is("S-4", "done")
	if !strings.Contains(w.file("S-4"), "Accepted: fine for the pilot") {
		t.Error(w.file("S-4"))
	}
	before := w.file("S-4")
	bob.see("This page has changed.")
	bob.click("button", "Send back")
	bob.see("S-4 has changed since you looked at it")
	bob.see("Nothing was done")
	bob.see("You wrote: too long") // it isn't lost
	if after := w.file("S-4"); after != before {
		t.Errorf("S-4 changed:\n%s", after)
	}
	// What is about another question than the one on the page is refused as well.
	ann.click("nav a", "Needs you")
	ann.click("main a", "S-1 (Name of S-1) asks")
	ann.write("Your answer", "euro")
	w.gl("state", "set", "S-1", "waiting_for=which currency, and which country?")
	ann.see("This page has changed.")
	ann.click("button", "Answer")
	ann.see("it waits for something else now: which currency, and which country?")
	w.is("S-1", "waiting")
	// A page on which no text is being written follows by itself.
	bob.click("nav a", "Needs you")
	bob.see("S-2 (Name of S-2) asks: which color?")
	w.gl("answer", "S-2", "green")
	bob.gone("S-2 (Name of S-2)")
	bob.see("Needs you 2 Board")
	ann.fine()
	bob.fine()
}

// Pages connect again when gl web is back, and catch up.
func TestRestart(t *testing.T) {
	w := newQuestions(t)
	first := w.serve()
	p := newPage(t).login(w.link())
	p.see("live")
	first.end()
	p.see("gl web has ended. Run gl web in the project's directory")
	w.gl("answer", "S-2", "green")
	if again := w.serve(); again.at != first.at {
		t.Fatalf("at %s, and then at %s", first.at, again.at)
	}
	p.gone("gl web has ended")
	p.gone("S-2 (Name of S-2)")
	w.answer(p)
	testfiles.Check(t, w.web.Process.Kill())
	p.see("reconnecting…")
	p.see("gl web doesn't answer.")
	w.serve()
	p.gone("gl web doesn't answer.")
	p.see("live")
	p.fine()
}

// Of changes that come faster than the page loads none is lost.
func TestManyChanges(t *testing.T) {
	w := newQuestions(t)
	w.serve()
	p := newPage(t).login(w.link())
	p.see("S-3 (Name of S-3) asks: which size?")
	ask[bool](p, `() => { // answers arrive late
		const send = XMLHttpRequest.prototype.send;
		XMLHttpRequest.prototype.send = function (...body) {
			const loaded = this.onload;
			this.onload = () => setTimeout(loaded, 1500);
			return send.apply(this, body);
		};
		return true;
	}`)
	was := w.file("S-3")
	for i := range 40 {
		testfiles.Put(t, w.root, ".greenlight/slices/S-3.md", strings.Replace(was, "which size?", fmt.Sprintf("which size, try %d?", i), 1))
		time.Sleep(30 * time.Millisecond)
	}
	p.see("which size, try 39?")
	p.fine()
}

// A page that is hidden closes its stream, and catches up when it is looked at again.
func TestHiddenPage(t *testing.T) {
	w := newQuestions(t)
	w.serve()
	p := newPage(t).login(w.link())
	p.see("live")
	hide := func(hidden bool) {
		t.Helper()
		ask[bool](p, `hidden => {
			Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
			return document.dispatchEvent(new Event("visibilitychange"));
		}`, hidden)
	}
	streams := func() int { return ask[int](p, `() => [...Stream.all].filter(s => s.real).length`) }
	hide(true)
	p.until("no stream", func() bool { return streams() == 0 })
	w.gl("answer", "S-2", "green")
	if !strings.Contains(p.text(), "S-2 (Name of S-2) asks") {
		t.Errorf("a hidden page follows: %s", p.text())
	}
	hide(false)
	p.gone("S-2 (Name of S-2) asks")
	if n := streams(); n != 1 {
		t.Errorf("%d streams", n)
	}
	p.fine()
}

// Without scripts every page can be read, and decisions are made with plain forms.
func TestWithoutScripts(t *testing.T) {
	w := newMorning(t)
	w.serve()
	p := newPage(t)
	p.scripts(false)
	p.login(w.link())
	p.click("nav a", "Board")
	p.see("Needs you (4)")
	p.click("nav a", "Report")
	p.see("To do")
	p.click("#failed-S-7 a", "log") // to the page, not to a file of this machine
	p.see("S-7: log of attempt 1")
	p.click("nav a", "Report")
	p.click("nav a", "Board")
	p.see("Needs you (4)")
	p.open(w.web.at) // which knows nothing of the session without a script
	p.see("isn't logged in")
	p.login(w.link())
	w.answer(p)
	p.click("nav a", "Needs you")
	p.click("main a", "S-2 (Name of S-2) awaits review")
	p.click(".diff a.n", "2") // a link to the same page with a field for that line
	p.write("Comment on mail:2", "say which order")
	p.click("button", "Send back")
	p.see("S-2 is sent back to its agent with 1 comment")
	w.is("S-2", "available")
	if !strings.Contains(w.file("S-2"), "Rejected: mail:2: say which order") {
		t.Error(w.file("S-2"))
	}
	p.click("nav a", "Needs you")
	p.click("main a", "S-7 (Name of S-7) failed")
	p.see("no compiler")
	p.click("main a", "History")
	p.see("failed: exit 7")
	p.click("h1 a", "S-7")
	p.click("button", "Retry")
	p.see("S-7 is pending again")
	w.is("S-7", "available")
	p.click("button", "Log out")
	p.see("You are logged out.")
}

// With the keyboard alone.
func TestKeyboard(t *testing.T) {
	w := newQuestions(t)
	w.serve()
	p := newPage(t)
	p.open(w.link())
	to := func(text string) {
		t.Helper()
		for range 60 {
			p.press("\t")
			if strings.HasPrefix(ask[string](p, focused), text) {
				return
			}
		}
		t.Fatalf("Tab doesn't come to %q: %s", text, p.text())
	}
	to("Log in")
	p.press("\r")
	p.see("S-1 (Name of S-1) asks")
	to("Skip to the content")
	p.press("\r")
	to("S-1 (Name of S-1) asks")
	p.press("\r")
	p.see("Your answer")
	to("Your answer")
	p.type_("euro")
	to("Answer")
	p.press("\r")
	p.see("S-1 is answered")
	w.is("S-1", "available")
	to("Board")
	p.press("\r")
	p.see("Slots")
	p.fine()
}

// focused returns what the focus is on, if it can be seen there.
const focused = `() => {
	const e = document.activeElement, name = e.labels?.[0] || e;
	const outline = getComputedStyle(e);
	if (outline.outlineStyle == "none" && e.id != "main") return "not to be seen: " + name.textContent;
	return name.textContent.trim().replace(/\s+/g, " ");
}`

// The cookie goes to no other port of this machine, though browsers send cookies to every port of a
// host: its path is the session's own.
func TestNeighborGetsNothing(t *testing.T) {
	w := newQuestions(t)
	w.serve()
	p := newPage(t).login(w.link())
	got := make(chan http.Header, 10)
	neighbor := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		got <- r.Header
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte(`<form method="post" action="` + w.web.at + `/s/x/do/stop"><button>Win a prize</button></form>`))
	}))
	defer neighbor.Close()
	p.open(neighbor.URL + "/s/")
	h := <-got
	if h.Get("Cookie") != "" || h.Get("Referer") != "" {
		t.Errorf("the neighbor got %q", h)
	}
	p.click("button", "Win a prize")
	p.see("Forbidden")
}
