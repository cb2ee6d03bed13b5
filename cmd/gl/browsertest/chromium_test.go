//go:build browser

package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	logs "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"greenlight/internal/base/testfiles"
)

// findChromium returns the path of the browser.
func findChromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is installed")
}

// browser is the one that all tests share; endBrowser ends it.
var (
	browser    func() (context.Context, error)
	endBrowser = func() {}
)

func init() {
	browser = sync.OnceValues(func() (context.Context, error) {
		ctx, end, err := newBrowser()
		endBrowser = end
		return ctx, err
	})
}

// newBrowser starts a Chromium with these flags: NAME=VALUE.
func newBrowser(flags ...string) (context.Context, func(), error) {
	path, err := findChromium()
	if err != nil {
		return nil, func() {}, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU)
	if os.Geteuid() == 0 { // root has no sandbox
		options = append(options, chromedp.NoSandbox)
	}
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		options = append(options, chromedp.Flag(name, value))
	}
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, end, chromedp.Do(ctx)
}

// A page is a tab of a browser of its own: it shares no cookies with the others.
type page struct {
	*testing.T
	ctx    context.Context
	clicks int // so far

	mu     sync.Mutex
	errors []string // of the page: scripts that failed, what its policy refused
}

// newPage opens a tab.
func newPage(t *testing.T) *page {
	t.Helper()
	ctx, err := browser()
	testfiles.Check(t, err)
	return openPage(t, ctx)
}

func openPage(t *testing.T, browser context.Context) *page {
	t.Helper()
	p := &page{T: t}
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.hear))
	p.ctx = ctx
	t.Cleanup(func() {
		if t.Failed() {
			p.dump()
		}
		end()
	})
	testfiles.Check(t, chromedp.Do(ctx)) // opens the tab, which lives as long as the context of its first action
	call(p, logs.Enable, cdp.Empty{})
	p.size(1440)
	return p
}

// hear keeps what went wrong on the page. Errors of the network are the tests' own: they end
// servers.
func (p *page) hear(ev any) {
	text := ""
	switch ev := ev.(type) {
	case *logs.EventEntryAdded:
		if ev.Entry.Level == logs.EntryLevelError && ev.Entry.Source != logs.EntrySourceNetwork {
			text = ev.Entry.Text
		}
	case *runtime.EventExceptionThrown:
		text = fmt.Sprint(ev.ExceptionDetails.Text, ev.ExceptionDetails.Exception)
	}
	if text != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errors = append(p.errors, text)
	}
}

// fine fails if anything went wrong on the page.
func (p *page) fine() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.errors {
		p.Errorf("the page says: %s", e)
	}
	p.errors = nil
}

// dump logs what the page shows, when a test has failed.
func (p *page) dump() {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	p.Logf("the page: %s %v", text, err)
}

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	testfiles.Check(p, chromedp.Do(ctx, actions...))
}

// call runs a command of the browser's protocol.
func call[P, R any](p *page, command cdp.Command[P, R], params P) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	_, err := chromedp.Call(ctx, command, params)
	testfiles.Check(p, err)
}

// ask returns what a function of the page returns for some arguments.
func ask[T any](p *page, function string, args ...any) T {
	p.Helper()
	for {
		v, err := evaluate[T](p, function, nil, args...)
		if !left(err) {
			testfiles.Check(p, err)
			return v
		}
	}
}

// left reports whether the page was left while a function was running there.
func left(err error) bool {
	return err != nil && strings.Contains(err.Error(), "navigated or closed") ||
		err != nil && strings.Contains(err.Error(), "context was destroyed")
}

// await is ask for a function that returns a promise. The page must stay.
func await[T any](p *page, function string, args ...any) T {
	p.Helper()
	v, err := evaluate[T](p, function, []chromedp.EvaluateOption{chromedp.EvalAwaitPromise}, args...)
	testfiles.Check(p, err)
	return v
}

func evaluate[T any](p *page, function string, how []chromedp.EvaluateOption, args ...any) (T, error) {
	p.Helper()
	list, err := json.Marshal(append([]any{}, args...))
	testfiles.Check(p, err)
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T]("("+function+")(..."+string(list)+")", how...))
}

// size makes the page as wide as a phone, a tablet or a screen.
func (p *page) size(width int64) {
	p.Helper()
	options := []chromedp.EmulateViewportOption{}
	if width < 800 {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.do(chromedp.EmulateViewport(width, 900, options...))
}

// scheme chooses light or dark.
func (p *page) scheme(name string) {
	p.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

// scripts switches the scripts of pages on or off.
func (p *page) scripts(on bool) {
	p.Helper()
	call(p, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// login opens a login link and presses its button.
func (p *page) login(link string) *page {
	p.Helper()
	p.open(link)
	p.click("button", "Log in")
	p.see("Needs you")
	return p
}

func (p *page) open(address string) {
	p.Helper()
	p.do(chromedp.Navigate(address))
}

// clickOn clicks a link, a button or another element by the text that it starts with, if it is
// there and nothing covers it. It looks and clicks at once: the page may change between the two.
const clickOn = `(kind, text, n) => {
	const plain = e => e.textContent.trim().replace(/\s+/g, " ");
	for (const e of document.querySelectorAll(kind)) {
		if (!plain(e).startsWith(text) || !e.checkVisibility()) continue;
		e.scrollIntoView({ block: "center", behavior: "instant" });
		const r = e.getClientRects()[0], top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
		if (!top || !e.contains(top) && !top.contains(e)) continue;
		sessionStorage.setItem("clicks", n);
		e.focus();
		e.click();
		return true;
	}
	return false;
}`

// click clicks an element that starts with a text, once it is there.
func (p *page) click(kind, text string) {
	p.Helper()
	p.clicks++
	p.until(fmt.Sprintf("%s %q can be clicked", kind, text), func() bool {
		clicked, err := evaluate[bool](p, clickOn, nil, kind, text, p.clicks)
		if left(err) { // by this click, or by one before
			return ask[bool](p, `n => sessionStorage.getItem("clicks") == n`, p.clicks)
		}
		testfiles.Check(p, err)
		return clicked
	})
}

// write clicks the label of a field, and writes. A page that was opened at a place in it takes the
// focus away once it is loaded, so the click is repeated.
func (p *page) write(label, text string) {
	p.Helper()
	p.until("the focus is in the field "+label, func() bool {
		p.click("label", label)
		return p.inField()
	})
	p.type_(text)
}

// inField reports whether the focus is in a field.
func (p *page) inField() bool {
	p.Helper()
	return ask[bool](p, `() => document.activeElement.matches("textarea, input")`)
}

// type_ writes where the focus is.
func (p *page) type_(text string) {
	p.Helper()
	if !p.inField() {
		p.Fatalf("the focus isn't in a field: %s", p.text())
	}
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

// text returns what the page shows.
func (p *page) text() string {
	p.Helper()
	return ask[string](p, `() => document.body ? document.body.innerText.replace(/\s+/g, " ") : ""`)
}

// until waits for a condition of the page.
func (p *page) until(what string, ok func() bool) {
	p.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatalf("still waiting: %s\n%s", what, p.text())
		}
	}
}

// see waits until the page shows a text.
func (p *page) see(text string) {
	p.Helper()
	p.until("see "+text, func() bool { return strings.Contains(p.text(), text) })
}

// gone waits until the page doesn't show a text.
func (p *page) gone(text string) {
	p.Helper()
	p.until("no longer "+text, func() bool { return !strings.Contains(p.text(), text) })
}

// press presses keys, one after the other.
func (p *page) press(keys string) {
	p.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// shots is the directory for pictures, "" for none.
func shots() string { return os.Getenv("GREENLIGHT_SHOTS") }

// shoot keeps a picture of the page.
func (p *page) shoot(name string) {
	p.Helper()
	if shots() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	testfiles.Check(p, err)
	testfiles.Check(p, os.WriteFile(filepath.Join(shots(), name+".png"), data, 0o644))
}
