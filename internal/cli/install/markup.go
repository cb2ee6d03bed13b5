package install

import (
	"encoding/json"
	"fmt"
	"strings"

	"greenlight/internal/base/text/frontmatter"
)

// yaml returns front matter. It quotes all strings, because YAML interprets too many words as
// other types. Other values are written as JSON, a subset of YAML.
func yaml(pairs ...[2]any) string {
	var b strings.Builder
	b.WriteString("---\n")
	for _, p := range pairs {
		text, ok := p[1].(string)
		if ok {
			text = frontmatter.Quote(text)
		} else {
			data, _ := json.Marshal(p[1]) // lists and maps of strings
			text = string(data)
		}
		fmt.Fprintf(&b, "%s: %s\n", p[0], text)
	}
	b.WriteString("---\n")
	return b.String()
}

// toml returns a document of strings, using multi-line strings where needed.
func toml(pairs ...[2]string) string {
	var b strings.Builder
	for _, p := range pairs {
		text := frontmatter.Quote(p[1])
		if strings.Contains(p[1], "\n") {
			text = `"""` + "\n" + multiline(p[1]) + `"""`
		}
		fmt.Fprintf(&b, "%s = %s\n", p[0], text)
	}
	return b.String()
}

// multiline escapes characters that a multi-line TOML string can't contain. Quotes are allowed
// except three in a row and one at the end.
func multiline(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n' || r == '\t' || ' ' <= r && r <= '~' && r != '"' && r != '\\':
			b.WriteRune(r)
		case r == '"' && !strings.HasPrefix(text[i:], `""`) && i < len(text)-1:
			b.WriteRune(r)
		default:
			quoted := frontmatter.Quote(string(r))
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
