package web

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/linecolor"
	"greenlight/internal/show/rowlayout"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assets embed.FS

// templates are parsed with the first page: other commands have no use for them.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		// every text from files and agents goes through one of these two
		"line":  func(v any) string { return sanitize.Line(textOf(v)) },
		"text":  func(v any) string { return sanitize.Text(textOf(v)) },
		"lines": logHTML,
		"agent": rowlayout.AgentName,
		// what a template of several values gets
		"pair": func(page any, c any) any { return struct{ Page, Card any }{page, c} },
		"then": func() string { return plan.Then },
		"steps": func(commands []string, between string) any {
			return struct {
				Commands []string
				Between  string
			}{commands, between}
		},
		"patch": func(base, id string, p *patch) any {
			return struct {
				Base, ID string
				Diff     *patch
			}{base, id, p}
		},
		"duration": func(d *time.Duration) string { return plan.Age(*d) },
		"slug":     slug,
		"tone":     toneOf,
	}).ParseFS(templateFiles, "templates/*.html"))
})

// slug returns the name of a group as a class and in addresses: "needs-you".
func slug(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// toneOf returns the class of a line that has a color on a terminal.
func toneOf(c term.Color) string {
	return map[term.Color]string{term.Yellow: "warn", term.Red: "bad"}[c]
}

func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return template.HTMLEscaper(v)
}

// show writes a page. It is made whole first: half a page would look like one.
func (s *Server) show(w http.ResponseWriter, code int, name string, page any) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name+".html", page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the reader may be gone
}

// longCall is how long the line of a tool's call may be before it is folded.
const longCall = 120

// logHTML returns lines of a log, each an element. Calls of tools are folded: a long one to its
// first line, several in a row to the last one.
func logHTML(lines []string) template.HTML {
	var b strings.Builder
	for len(lines) > 0 {
		n := 0
		var calls []string // each with the lines that belong to it
		for n < len(lines) && isCall(lines[n]) {
			call := lines[n]
			for n++; n < len(lines) && strings.HasPrefix(lines[n], "  "); n++ {
				call += "\n" + lines[n]
			}
			calls = append(calls, call)
		}
		if n == 0 {
			b.WriteString("<p" + classOf(lines[0]) + ">" + escaped(lines[0]) + "</p>\n")
			n = 1
		}
		writeCalls(&b, calls)
		lines = lines[n:]
	}
	return template.HTML(b.String())
}

// foldedCalls is how many calls in a row are folded to one line.
const foldedCalls = 3

func writeCalls(b *strings.Builder, calls []string) {
	many := len(calls) >= foldedCalls
	if many {
		last, _, _ := strings.Cut(calls[len(calls)-1], "\n")
		fmt.Fprintf(b, "<details class=\"tool\"><summary>%d tool calls, the last one %s</summary>\n",
			len(calls), escaped(strings.TrimPrefix(last, "> ")))
	}
	for _, c := range calls {
		first, _, more := strings.Cut(c, "\n")
		if more || len(first) > longCall {
			b.WriteString("<details class=\"tool\"><summary>" + escaped(first) + "</summary><p>" +
				escaped(c) + "</p></details>\n")
			continue
		}
		b.WriteString("<p class=\"tool\">" + escaped(c) + "</p>\n")
	}
	if many {
		b.WriteString("</details>\n")
	}
}

// isCall reports whether a line of a log begins the call of a tool: see attemptlog.EventText.
func isCall(line string) bool {
	if sub, ok := strings.CutPrefix(line, linecolor.SubAgent); ok {
		name, _, called := strings.Cut(sub, " > ")
		return called && !strings.Contains(name, " ")
	}
	return strings.HasPrefix(line, "> ")
}

// classOf returns the class of a line of a log by its mark.
func classOf(line string) string {
	switch {
	case strings.HasPrefix(line, "- "):
		return ` class="tool"`
	case strings.HasPrefix(line, "! "):
		return ` class="bad"`
	case strings.HasPrefix(line, "you: "):
		return ` class="you"`
	}
	return ""
}

func escaped(text string) string { return html.EscapeString(sanitize.Text(text)) }

// dataLines returns text as the data of an event.
func dataLines(text template.HTML) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString("data: " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// Static serves the embedded scripts and styles by their names, and nothing else.
func Static() http.Handler {
	kinds := map[string]string{".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".txt": "text/plain; charset=utf-8"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := kinds[path.Ext(r.URL.Path)]
		data, err := assets.ReadFile("assets/" + r.URL.Path)
		if err != nil || kind == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "max-age=3600")
		_, _ = w.Write(data) // the reader may be gone
	})
}
