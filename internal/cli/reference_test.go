package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/term"
	"greenlight/internal/run/project"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/reference, docs/man and docs/schema anew")

// The reference and the man pages are generated from the commands' definitions. The generator is
// this test, so no program carries it.
func TestReference(t *testing.T) {
	root, all := commandTree()
	pages := map[string]string{filepath.Join("reference", "README.md"): markdownIndex(root, all)}
	for _, c := range all {
		pages[filepath.Join("man", pageName(c)+".1")] = manPage(c)
		if c != root {
			pages[filepath.Join("reference", pageName(c)+".md")] = markdownPage(c)
		}
	}
	docs := filepath.Join("..", "..", "docs")
	if *update {
		writePages(t, docs, pages)
	}
	var stale []string
	for path, want := range pages {
		if got, _ := os.ReadFile(filepath.Join(docs, path)); string(got) != want {
			stale = append(stale, path)
		}
	}
	for _, dir := range []string{"reference", "man"} {
		there, err := os.ReadDir(filepath.Join(docs, dir))
		if err != nil {
			t.Error(err)
		}
		for _, f := range there {
			if path := filepath.Join(dir, f.Name()); pages[path] == "" {
				stale = append(stale, path)
			}
		}
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		t.Errorf("these pages of docs aren't what the commands say: run make docs\n%s", strings.Join(stale, "\n"))
	}
}

func writePages(t *testing.T, docs string, pages map[string]string) {
	t.Helper()
	for _, dir := range []string{"reference", "man"} {
		if err := os.RemoveAll(filepath.Join(docs, dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(docs, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range pages {
		if err := os.WriteFile(filepath.Join(docs, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// explained returns the text of a command's page, with the paragraph about exit codes apart.
func explained(c *cobra.Command) (text []term.Paragraph, exit string) {
	for _, b := range term.Paragraphs(c.Long) {
		if codes, ok := strings.CutPrefix(b.Text, "Exit codes: "); ok {
			exit = codes
			continue
		}
		text = append(text, b)
	}
	return text, exit
}

// below returns the subcommands that have pages.
func below(c *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			list = append(list, sub)
		}
	}
	return list
}

const generated = "<!-- Made from the commands' definitions by make docs; edit those. -->\n"

func markdownIndex(root *cobra.Command, all []*cobra.Command) string {
	var b strings.Builder
	b.WriteString(generated + "\n# Commands of gl\n\n" + markdownBlocks(root))
	row := func(c *cobra.Command) {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", asMarkdown(shape(c)), pageName(c),
			asMarkdown(c.Short))
	}
	for _, g := range firstHelp() {
		fmt.Fprintf(&b, "\n## %s\n\n| | |\n|---|---|\n", g.title)
		for _, c := range inGroup(root, g) {
			row(c)
		}
	}
	b.WriteString("\n# Every command\n")
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| | |\n|---|---|\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range all {
			top := c
			for top.Parent() != root && top != root {
				top = top.Parent()
			}
			if top.GroupID == g.ID && c != root {
				row(c)
			}
		}
	}
	b.WriteString("\n## More\n\n| | |\n|---|---|\n")
	for _, c := range all {
		if c.Parent() == root && c.GroupID == "" {
			row(c)
		}
	}
	b.WriteString("\n## Flags of every command\n\n" +
		markdownCode(flagLines(root.PersistentFlags(), 0)))
	return b.String()
}

func markdownPage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# %s\n\n%s.\n\n", generated, c.CommandPath(), asMarkdown(c.Short))
	if c.Runnable() {
		b.WriteString(markdownCode(c.UseLine()) + "\n")
	}
	b.WriteString(markdownBlocks(c))
	section := func(title, text string) {
		if text != "" {
			b.WriteString("\n## " + title + "\n\n" + text)
		}
	}
	if c.Example != "" {
		section("Examples", markdownCode(c.Example))
	}
	subs := ""
	for _, sub := range below(c) {
		subs += fmt.Sprintf("- [%s](%s.md): %s\n", asMarkdown(shape(sub)), pageName(sub),
			asMarkdown(sub.Short))
	}
	section("Commands", subs)
	if c.CommandPath() == "gl settings" {
		section("Settings", markdownSettings())
	}
	if c.Runnable() {
		section("Flags", markdownCode(flagLines(c.LocalFlags(), 0)))
	}
	if _, exit := explained(c); exit != "" {
		section("Exit codes", asMarkdown(exit)+"\n")
	}
	up := "[all commands and the flags of every command](README.md)"
	if p := c.Parent(); p.HasParent() {
		up = fmt.Sprintf("[%s](%s.md), ", p.CommandPath(), pageName(p)) + up
	}
	b.WriteString("\nSee also: " + up + "\n")
	return b.String()
}

// markdownSettings lists all settings.
func markdownSettings() string {
	var b strings.Builder
	for _, section := range project.SettingSections() {
		fmt.Fprintf(&b, "### %s\n\n| key | default | what it does |\n|---|---|---|\n", section.Title)
		for _, key := range section.List() {
			about, usual, _ := project.AboutSetting(key)
			text := settingText(about)
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, asMarkdown(valueText(usual)), asMarkdown(text))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// settingText returns all that is known about a setting, for a page.
func settingText(about project.About) string {
	text := about.Line + "."
	if about.More != "" {
		text += " " + about.More
	}
	if len(about.Values) > 0 {
		text += " Values: " + strings.Join(about.Values, ", ") + "."
	}
	if about.Example != "" {
		text += " Example: " + about.Example
	}
	if about.Guarded {
		text += " It takes effect once you have allowed it."
	}
	return text
}

// manSettings is markdownSettings for a man page.
func manSettings() string {
	text := ""
	for _, section := range project.SettingSections() {
		text += ".SS " + roff(section.Title) + "\n"
		for _, key := range section.List() {
			about, usual, _ := project.AboutSetting(key)
			value := ""
			if shown := valueText(usual); shown != "" {
				value = " (default " + shown + ")"
			}
			text += ".TP\n.B " + roff(key) + "\n" + roff(settingText(about)+value) + "\n"
		}
	}
	return text
}

func markdownBlocks(c *cobra.Command) string {
	text, exit := explained(c)
	if c.Parent() == nil && exit != "" {
		text = append(text, term.Paragraph{Text: "Exit codes: " + exit})
	}
	var parts []string
	for _, p := range text {
		if p.Verbatim {
			parts = append(parts, markdownCode(p.Text))
		} else {
			parts = append(parts, asMarkdown(p.Text)+"\n")
		}
	}
	return strings.Join(parts, "\n")
}

func markdownCode(text string) string { return "```\n" + strings.TrimRight(text, "\n") + "\n```\n" }

func asMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`,
		"]", `\]`, "|", `\|`).Replace(text)
}

func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := pageName(c)
	fmt.Fprintf(&b, ".\\\" Made from the commands' definitions by make docs; edit those.\n.TH %s 1 \"\" Greenlight \"Greenlight commands\"\n",
		roff(strings.ToUpper(name)))
	section := func(title, text string) {
		if text != "" {
			b.WriteString(".SH " + title + "\n" + text)
		}
	}
	section("NAME", roff(name)+` \- `+roff(c.Short)+"\n")
	usage, flags := "gl COMMAND [flags]", c.PersistentFlags()
	if c.Parent() != nil {
		usage, flags = c.UseLine(), c.LocalFlags()
	}
	topic := c.Parent() != nil && !c.Runnable()
	if !topic {
		section("SYNOPSIS", ".B "+roff(usage)+"\n")
	}
	text, exit := explained(c)
	paragraphs := ""
	for _, p := range text {
		if p.Verbatim {
			paragraphs += manCode(p.Text)
		} else {
			paragraphs += ".PP\n" + roff(p.Text) + "\n"
		}
	}
	section("DESCRIPTION", paragraphs)
	if c.Parent() == nil {
		first := ""
		for _, g := range firstHelp() {
			first += ".SS " + g.title + "\n" + manList(inGroup(c, g))
		}
		section("COMMANDS FOR MOST DAYS", first)
	}
	section("COMMANDS", manList(below(c)))
	if c.CommandPath() == "gl settings" {
		section("SETTINGS", manSettings())
	}
	if !topic {
		section("OPTIONS", manFlags(flagTexts(flags)))
	}
	if exit != "" {
		section("EXIT STATUS", roff(exit)+"\n")
	}
	if c.Example != "" {
		section("EXAMPLES", manCode(c.Example))
	}
	see := `.BR gl\-environment (1)`
	if c.Parent() != nil {
		see = ".BR " + roff(pageName(c.Parent())) + " (1),\n" + see
	}
	section("SEE ALSO", see+"\n")
	return b.String()
}

func manList(subs []*cobra.Command) string {
	text := ""
	for _, sub := range subs {
		text += ".TP\n.BR " + roff(pageName(sub)) + " (1)\n" + roff(sub.Short) + "\n"
	}
	return text
}

func manFlags(list []flagText) string {
	text := ""
	for _, f := range list {
		text += ".TP\n.B " + roff(strings.TrimSpace(f.typed)) + "\n" + roff(f.means) + "\n"
	}
	return text
}

func manCode(text string) string {
	return ".PP\n.RS 4\n.nf\n" + roff(strings.TrimRight(text, "\n")) + "\n.fi\n.RE\n"
}

// roff escapes text: hyphens stay ASCII so that they can be copied, and a leading dot or quote
// isn't a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
