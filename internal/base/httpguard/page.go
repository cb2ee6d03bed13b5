package httpguard

import (
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"strings"
	"sync"
)

// A page is one without a session: a login, or why there is nothing else.
type page struct {
	Title, Text, Token string
	Open               bool // the browser may know a session: static/open.js looks
}

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{{.Title}}</title>
<link rel="stylesheet" href="/static/gl.css"><link rel="icon" href="data:,">
{{if .Open}}<script src="/static/open.js" defer></script>{{end}}</head>
<body><main class="door"><h1>{{.Title}}</h1>{{with .Text}}<p>{{.}}</p>{{end}}
{{if .Token}}<form method="post" action="/login"><input type="hidden" name="token" value="{{.Token}}">
<p>This link works once.</p><button class="primary">Log in</button></form>{{end}}</main></body></html>
`))
})

// show writes a page without a session.
func show(w http.ResponseWriter, r *http.Request, code int, p page) {
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": p.Text})
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = pageTemplate().Execute(w, p) // the browser may be gone
}

// refuse says why a request isn't answered.
func refuse(w http.ResponseWriter, r *http.Request, code int, text string) {
	title := "Greenlight"
	if code >= http.StatusBadRequest {
		title = http.StatusText(code)
	}
	show(w, r, code, page{Title: title, Text: text})
}

// WriteLoginFile writes a page that logs the browser in which it is opened in, at address. The
// token is in no command line then, which every process of the machine could read.
func WriteLoginFile(w io.Writer, address, token string) error {
	return fileTemplate().Execute(w, struct{ Address, Token string }{address, token})
}

var fileTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("file").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Log in to Greenlight</title></head>
<body><form method="post" action="{{.Address}}/login"><input type="hidden" name="token" value="{{.Token}}">
<button>Log in to Greenlight</button></form><script>document.forms[0].submit()</script></body></html>
`))
})
