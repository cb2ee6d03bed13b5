package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/docs"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/iostreams"
)

// A glossaryWord is a row of docs/glossary.md.
type glossaryWord struct{ word, means, where string }

// glossary returns the words of docs/glossary.md, without Markdown.
func glossary() []glossaryWord {
	var list []glossaryWord
	for line := range strings.Lines(docs.Glossary) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 {
			continue
		}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(c), "`", "")
		}
		list = append(list, glossaryWord{cells[0], cells[1], cells[2]})
	}
	return list[1:] // the table's head
}

// findWord returns the entry of a word, or of its singular.
func findWord(word string) (glossaryWord, bool) {
	list := glossary()
	word = strings.ToLower(word)
	i := slices.IndexFunc(list, func(g glossaryWord) bool {
		return word == g.word || word == g.word+"s"
	})
	if i < 0 {
		return glossaryWord{}, false
	}
	return list[i], true
}

// newGlossaryTopic returns gl help glossary: the words that gl uses.
func newGlossaryTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("The words that gl uses beyond git's own.\n")
	for _, g := range glossary() {
		b.WriteString("\n" + g.word + ": " + g.means + " (" + g.where + ").\n")
	}
	return &cobra.Command{Use: "glossary", Short: "The words that gl uses", Long: b.String()}
}

// printWord prints the entry of a word.
func printWord(out *iostreams.Streams, g glossaryWord) {
	out.Printf("%s\n", term.Wrap(out.Paint(term.Bold, g.word)+": "+g.means, out.Width(), 2))
	out.Printf("%s\n", term.Wrap("  see "+g.where+"; all words: gl help glossary", out.Width(), 2))
}
