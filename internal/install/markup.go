package install

import (
	"encoding/json"
	"fmt"
	"strings"
)

// yaml writes frontmatter. Strings are all quoted: YAML has too many words that aren't strings otherwise. What is no string
// is written as JSON, which YAML takes.
func yaml(pairs ...[2]any) string {
	var b strings.Builder
	b.WriteString("---\n")
	for _, p := range pairs {
		text, ok := p[1].(string)
		if ok {
			text = basic(text)
		} else {
			data, _ := json.Marshal(p[1]) // lists and maps of strings
			text = string(data)
		}
		fmt.Fprintf(&b, "%s: %s\n", p[0], text)
	}
	b.WriteString("---\n")
	return b.String()
}

// toml writes a document of strings, those of several lines as such.
func toml(pairs ...[2]string) string {
	var b strings.Builder
	for _, p := range pairs {
		if strings.Contains(p[1], "\n") {
			fmt.Fprintf(&b, "%s = \"\"\"\n%s\"\"\"\n", p[0], escape(p[1], true))
			continue
		}
		fmt.Fprintf(&b, "%s = %s\n", p[0], basic(p[1]))
	}
	return b.String()
}

// basic is a double-quoted string of one line, as TOML and YAML both have it.
func basic(text string) string { return `"` + escape(text, false) + `"` }

func escape(text string, lines bool) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '"' && (!lines || strings.HasPrefix(text[i:], `""`) || i == len(text)-1):
			b.WriteString(`\"`)
		case r == '\n' && lines || r == '\t' && lines:
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || 0x7f <= r && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
