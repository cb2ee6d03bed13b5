package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan  = regexp.MustCompile("(?s)``.*?``|`[^`]*`")
	mdLink    = regexp.MustCompile(`\]\(<?([^()<>\s]+)>?(?: "[^"]*")?\)`)
	mdHeading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	noSlug    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// links returns where the links of a page lead.
func links(page string) []string {
	var list []string
	page = codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(page, ""), "``")
	for _, m := range mdLink.FindAllStringSubmatch(page, -1) {
		list = append(list, m[1])
	}
	return list
}

// anchors returns the names of a page's headings, as the sites that show Markdown make them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range mdHeading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		name := noSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// dead returns what a link in a file misses; "" if it leads somewhere, or to another site.
func dead(dir fs.FS, file, link string) string {
	if strings.Contains(link, ":") {
		return ""
	}
	path, anchor, _ := strings.Cut(link, "#")
	if path == "" {
		path = file
	} else {
		path = filepath.ToSlash(filepath.Join(filepath.Dir(file), path))
	}
	if _, err := fs.Stat(dir, path); err != nil {
		return err.Error()
	}
	if anchor == "" {
		return ""
	}
	text, err := fs.ReadFile(dir, path)
	if err != nil {
		return err.Error()
	}
	if !anchors(string(text))[anchor] {
		return path + " has no such heading"
	}
	return ""
}

// Every link of every Markdown file leads to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	root := os.DirFS("..")
	seen := 0
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".git") ||
			d.Name() == "testdata" || d.Name() == "node_modules") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for _, link := range links(string(text)) {
			seen++
			if why := dead(root, path, link); why != "" {
				t.Errorf("%s: dead link %s: %s", path, link, why)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Fatalf("%d links: %v", seen, err)
	}
}

func TestLinksFindsDead(t *testing.T) {
	dir := os.DirFS("..")
	for link, ok := range map[string]bool{
		"SECURITY.md": true, "SECURITY.md#the-sandbox": true, "docs/": true, "https://example.com/x": true,
		"SECURITY.md#no-such-heading": false, "docs/none.md": false, "#agents": true, "#none": false,
	} {
		if why := dead(dir, "README.md", link); (why == "") != ok {
			t.Errorf("%s: %q", link, why)
		}
	}
	if got := links("[a](b) `[c](d)`\n```\n[e](f)\n```\n![g](h \"i\")"); strings.Join(got, " ") != "b h" {
		t.Errorf("%q", got)
	}
}
