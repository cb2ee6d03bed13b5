package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/show/report"
)

// inspect runs in the page, once it is loaded, and leaves what it finds in the title, where
// --dump-dom shows it. It checks what axe-core calls image-alt, svg-img-alt, color-contrast,
// scrollable-region-focusable, duplicate-id, heading-order, link-name and region.
const inspect = `
const rgb = c => c.match(/[\d.]+/g).map(Number);
const lum = ([r, g, b]) => { const f = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 }; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b) };
const contrast = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + .05) / (y + .05) };
const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c } return rgb(getComputedStyle(document.documentElement).backgroundColor) };
const bad = [];
document.body.offsetHeight; // laid out
const opened = performance.now();
const paper = document.documentElement.dataset.paper;
if (!paper) document.querySelectorAll("details").forEach(d => d.open = true);
else for (const d of document.querySelectorAll("main > section:not(.diffs) details")) if (!d.querySelector("td, li")?.checkVisibility({ contentVisibilityAuto: true })) bad.push("not on paper: " + d.textContent.trim().slice(0, 30));
if (paper) for (const e of document.querySelectorAll("svg")) if (e.getBoundingClientRect().right > innerWidth) bad.push("beyond the paper: " + e.getAttribute("aria-labelledby"));
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim());
  if (own && !e.closest("svg") && e.checkVisibility()) { const r = contrast(rgb(getComputedStyle(e).color), behind(e)); if (r < 4.5) bad.push("contrast " + r.toFixed(2) + ": " + e.tagName + "." + e.className + " " + e.textContent.slice(0, 30)) }
  if (e.tagName == "text") { const box = e.parentElement.querySelector("rect"); const back = e.closest(".node") ? rgb(getComputedStyle(box).fill) : behind(e.closest("div")); const r = contrast(rgb(getComputedStyle(e).fill), back); if (r < 4.5) bad.push("contrast " + r.toFixed(2) + " in picture: " + e.textContent) }
}
for (const s of document.querySelectorAll("svg")) if (s.getAttribute("aria-hidden") != "true" && !(s.getAttribute("role") == "img" && document.getElementById(s.getAttribute("aria-labelledby").split(" ")[0]))) bad.push("picture without a name");
for (const a of document.querySelectorAll("a")) if (!a.textContent.trim()) bad.push("link without a name");
for (const e of document.querySelectorAll("body *")) if (["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth && e.tabIndex < 0) bad.push("scrolls, and can't be reached by keyboard: " + e.tagName + "." + e.className);
let level = 0;
for (const h of document.querySelectorAll("h1, h2, h3")) { const n = +h.tagName[1]; if (n > level + 1) bad.push("heading skips a level: " + h.textContent); level = n }
const seen = new Set();
for (const e of document.querySelectorAll("[id]")) { if (seen.has(e.id)) bad.push("id twice: " + e.id); seen.add(e.id) }
for (const e of document.querySelectorAll("body > *")) if (!["HEADER", "MAIN", "FOOTER", "SCRIPT"].includes(e.tagName)) bad.push("outside of a landmark: " + e.tagName);
for (const th of document.querySelectorAll("table")) if (!th.querySelector("th")) bad.push("table without a header");
top.document.title = JSON.stringify({ bad, width: document.documentElement.scrollWidth, inner: innerWidth, background: getComputedStyle(document.body).backgroundColor, load: opened, dark: matchMedia("(prefers-color-scheme: dark)").matches });
`

// A found is what inspect says.
type found struct {
	Bad        []string
	Width      int
	Inner      int
	Background string
	Load       float64
	Dark       bool
}

// The page in a real browser: in both color schemes, on a phone, with 300 attempts, and with
// nothing but itself to load. GREENLIGHT_SHOTS names a directory for pictures of it.
func TestPageInChromium(t *testing.T) {
	if !testfiles.Long() {
		t.Skip("the browser runs in make pages")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed")
	}
	pages := map[string]string{}
	for name, slices := range map[string]int{"small": 24, "large": 300} {
		d := report.New(night(slices))
		d.AddPatches(patches(d, 10))
		pages[name] = html(t, d)
	}
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "frame" {
			fmt.Fprintf(w, `<!DOCTYPE html><html style="color-scheme: light dark"><head><link rel="icon" href="data:,"></head><body style="margin:0"><iframe src="/%s?paper=%s" style="border:0;width:%spx;height:3600px"></iframe></body></html>`,
				r.FormValue("page"), r.FormValue("paper"), r.FormValue("width"))
			return
		}
		if pages[name] == "" {
			http.NotFound(w, r)
			return
		}
		page := pages[name]
		if r.FormValue("paper") != "" { // as it is printed; --print-to-pdf makes no document that a script could look at
			page = strings.NewReplacer("@media print", "@media all", "@media screen", "@media print", `<html `, `<html data-paper="1" `).Replace(page)
		}
		// The policy of the page itself lets no script run: this one is the test's.
		policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)
		fmt.Fprint(w, strings.Replace(policy.ReplaceAllString(page, ""), "</body>", "<script>"+inspect+"</script></body>", 1))
	}))
	defer server.Close()
	shots := os.Getenv("GREENLIGHT_SHOTS")
	for _, c := range []struct {
		page, scheme string
		width        int
		paper        string
	}{{"small", "light", 1200, ""}, {"small", "dark", 1200, ""}, {"small", "light", 390, ""}, {"small", "dark", 390, ""}, {"large", "light", 1200, ""}, {"large", "dark", 390, ""},
		{"small", "light", 720, "a4"}, {"small", "dark", 720, "a4"}, {"large", "dark", 720, "a4"}} {
		t.Run(fmt.Sprintf("%s_%s_%d%s", c.page, c.scheme, c.width, c.paper), func(t *testing.T) {
			run := func(args ...string) []byte {
				scheme := map[string]string{"light": "1", "dark": "0"}[c.scheme]
				cmd := exec.Command(chromium, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(),
					"--blink-settings=preferredColorScheme=" + scheme, fmt.Sprintf("--window-size=%d,1400", c.width), "--virtual-time-budget=2000"}, args...)...)
				var out bytes.Buffer
				cmd.Stdout = &out
				done := make(chan error, 1)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				go func() { done <- cmd.Wait() }()
				select {
				case err := <-done:
					if err != nil {
						t.Fatal(err)
					}
				case <-time.After(2 * time.Minute):
					_ = cmd.Process.Kill()
					t.Fatal("chromium doesn't end")
				}
				return out.Bytes()
			}
			// A window is never narrower than 500 pixels, so a phone's is a frame in one.
			url := fmt.Sprintf("%s/frame?page=%s&width=%d&paper=%s", server.URL, c.page, c.width, c.paper)
			dom := run("--dump-dom", url)
			m := regexp.MustCompile(`(?s)<title>(\{.*?\})</title>`).FindSubmatch(dom)
			if m == nil {
				t.Fatalf("the page says nothing: %.500s", dom)
			}
			var f found
			if err := json.Unmarshal([]byte(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(string(m[1]))), &f); err != nil {
				t.Fatal(err)
			}
			for _, b := range f.Bad {
				t.Error(b)
			}
			if f.Inner != c.width || f.Width > c.width {
				t.Errorf("%d wide in a window of %d", f.Width, f.Inner)
			}
			// Paper is white, whatever the screen is.
			if f.Dark != (c.scheme == "dark") || (f.Background == "rgb(13, 17, 23)") != (f.Dark && c.paper == "") {
				t.Errorf("dark %v, background %s", f.Dark, f.Background)
			}
			if c.paper != "" && c.page == "small" {
				pdf := filepath.Join(t.TempDir(), "page.pdf")
				run("--print-to-pdf="+pdf, "--no-pdf-header-footer", server.URL+"/"+c.page)
				data, err := os.ReadFile(pdf)
				if n := bytes.Count(data, []byte("/Type /Page\n")); err != nil || n < 2 || n > 8 {
					t.Errorf("%d pages in %d bytes: %v", n, len(data), err)
				}
			}
			t.Logf("loaded in %.0f ms", f.Load)
			if shots != "" {
				run("--screenshot="+filepath.Join(shots, fmt.Sprintf("%s-%s-%d.png", c.page, c.scheme, c.width)), fmt.Sprintf("--window-size=%d,3600", c.width), url)
			}
		})
	}
	for _, path := range asked {
		if path != "/frame" && pages[strings.TrimPrefix(path, "/")] == "" {
			t.Errorf("the page asked for %s", path)
		}
	}
}
