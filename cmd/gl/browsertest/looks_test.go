//go:build browser

package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
)

// The widths of a phone, a tablet and a screen.
var widths = []int64{390, 820, 1440}

// Every page at every width, in light and dark: nothing is wider than the page, and axe-core finds
// nothing serious. GREENLIGHT_SHOTS names a directory for pictures.
func TestLooks(t *testing.T) {
	axe := ""
	if path := os.Getenv("GREENLIGHT_AXE"); path != "" {
		data, err := os.ReadFile(path)
		testfiles.Check(t, err)
		axe = string(data)
	} else {
		t.Log("skipped: axe-core, because GREENLIGHT_AXE doesn't name its axe.min.js (make pages installs it)")
	}
	w := newMorning(t)
	w.serve()
	p := newPage(t)
	p.open(w.link())
	looks := map[string]string{}
	p.look("login", axe)
	p.login(w.link())
	base := ask[string](p, `() => document.getElementById("main").dataset.base`)
	for name, path := range map[string]string{"needs": "", "board": "board", "board-done": "board?group=done",
		"question": "slice/S-1", "review": "slice/S-2", "review-comment": "slice/S-2?at=mail:2", "red": "slice/S-3",
		"empty": "slice/S-4", "stalled": "slice/S-5", "failed": "slice/S-7", "conflict": "slice/S-8",
		"done": "slice/S-9", "paused": "slice/S-10", "diff": "slice/S-2/diff?file=mail", "log": "slice/S-7/log",
		"history": "slice/S-8/history", "missing": "slice/S-99", "report": "report"} {
		p.open(w.web.at + base + path)
		looks[name] = p.look(name, axe)
	}
	for _, name := range []string{"needs", "board", "review"} {
		if !strings.Contains(looks[name], "S-2") {
			t.Errorf("%s doesn't show S-2: %s", name, looks[name])
		}
	}
	p.fine()
}

// Every page has a document at its address: the one that the command prints.
func TestDocuments(t *testing.T) {
	w := newMorning(t)
	w.serve()
	p := newPage(t).login(w.link())
	for path, command := range map[string]string{"": "review", "slice/S-1": "why S-1", "slice/S-2/diff": "diff S-2",
		"slice/S-7/log": "logs S-7", "slice/S-8/history": "events --slice S-8", "board": "status"} {
		got := await[string](p, `async path => (await fetch(location.origin + document.getElementById("main").dataset.base + path,
			{ headers: { Accept: "application/json" } })).text()`, path)
		want := w.gl(append(strings.Fields(command), "--json")...)
		if one, two := decoded(t, got), decoded(t, want); !cmp.Equal(one, two) {
			t.Errorf("%q isn't what gl %s --json prints: %s", path, command, cmp.Diff(two, one))
		}
	}
}

// decoded returns the documents of a text. Times and ages differ from one look to the next.
func decoded(t *testing.T, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var doc map[string]any
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, key := range []string{"now", "generated", "eta"} {
			delete(doc, key)
		}
		list = append(list, doc)
	}
}

// look looks at a page in every way, and returns its text.
func (p *page) look(name, axe string) string {
	p.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		for _, width := range widths {
			p.size(width)
			at := fmt.Sprintf("%s-%s-%d", name, scheme, width)
			for _, wide := range ask[[]string](p, tooWide) {
				p.Errorf("%s: wider than the page: %s", at, wide)
			}
			p.shoot(at)
			if axe != "" && width != 820 {
				p.axe(at, axe)
			}
		}
	}
	return p.text()
}

// tooWide returns what makes a page scroll sideways, and where the focus can't be seen.
const tooWide = `() => {
	if (document.documentElement.scrollWidth <= innerWidth) return [];
	const scrolls = e => e && (["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
	return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 &&
		!scrolls(e.parentElement)).map(e => e.outerHTML.slice(0, 120)).concat("the page").slice(0, 5);
}`

// axe runs axe-core on the page.
func (p *page) axe(at, script string) {
	p.Helper()
	if !ask[bool](p, `() => "axe" in window`) {
		p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := chromedp.Evaluate[chromedp.Void](script)(ctx, target)
			return err
		}))
	}
	bad := await[[]string](p, `() => axe.run().then(r => r.violations.map(v =>
		v.impact + " " + v.id + ": " + v.nodes.map(n => n.html).join(" ").slice(0, 300)))`)
	for _, b := range bad {
		p.Errorf("%s: axe-core: %s", at, b)
	}
}
