package web

import (
	"bytes"
	"embed"
	"html"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
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
		// what a template of several values gets
		"pair": func(page any, c any) any { return struct{ Page, Card any }{page, c} },
		"patch": func(base, id string, p *patch) any {
			return struct {
				Base, ID string
				Diff     *patch
			}{base, id, p}
		},
		"age": func(r view.Row, now time.Time) string {
			if d, ok := r.Age(now); ok {
				return plan.Age(d)
			}
			return ""
		},
		"duration": func(d *time.Duration) string { return plan.Age(*d) },
		"slug":     func(text string) string { return strings.ReplaceAll(strings.ToLower(text), " ", "-") },
	}).ParseFS(templateFiles, "templates/*.html"))
})

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

// logHTML returns lines of a log, those of a tool's call folded into one element each.
func logHTML(lines []string) template.HTML {
	var b strings.Builder
	for _, l := range lines {
		class := ""
		switch {
		case strings.HasPrefix(l, "> "), strings.HasPrefix(l, "- "):
			class = ` class="tool"`
		case strings.HasPrefix(l, "! "):
			class = ` class="bad"`
		case strings.HasPrefix(l, "you: "):
			class = ` class="you"`
		}
		b.WriteString("<span" + class + ">" + html.EscapeString(sanitize.Text(l)) + "</span>\n")
	}
	return template.HTML(b.String())
}

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
