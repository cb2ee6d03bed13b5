package slice

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/state/statedir"
)

// decisionsIn returns the entries of STATE.md's Decisions section verbatim: each a list item,
// table or paragraph with the lines that belong to it.
func decisionsIn(text string) []string {
	s := sectionOf(text, "Decisions")
	body := strings.ReplaceAll(strings.TrimPrefix(s.text, textline.First(s.text)), "\r\n", "\n")
	var all []string
	open := false // the next line may belong to the last entry
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \t\n")
		item := isItem(line)
		indented := strings.TrimLeft(line, " \t") != line
		switch {
		case line == "":
			open = false
		case open && (indented || !item), len(all) > 0 && indented:
			all[len(all)-1] += "\n" + line
			open = true
		default:
			all = append(all, line)
			open = true
		}
	}
	if len(all) == 1 && len(appendText(nil, strings.TrimLeft(all[0], "- "))) == 0 {
		return nil
	}
	return all
}

// isItem reports whether the line is a list item.
func isItem(line string) bool {
	text, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "-")
	return ok && (text == "" || strings.ContainsAny(text[:1], " \t\r\n"))
}

// missingDecisions returns the entries that DECISIONS.md lacks.
func (g *migrator) missingDecisions(entries []string) ([]string, error) {
	old, err := durable.ReadFile(g.dir.path("DECISIONS.md"))
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read %s: %w", stateRel("DECISIONS.md"), bareError(err))
	}
	_, added := withDecisions(string(old), entries)
	return added, nil
}

// withDecisions returns DECISIONS.md with the missing entries added, and those entries.
func withDecisions(text string, entries []string) (string, []string) {
	plainText := strings.ReplaceAll(text, "\r\n", "\n")
	var added []string
	for _, e := range entries {
		if !strings.Contains(plainText, strings.TrimPrefix(e, "- ")) {
			added = append(added, e)
		}
	}
	if len(added) == 0 {
		return text, nil
	}
	eol := textline.End(textline.First(text))
	block := "# Decisions" + eol
	if !textline.Blank(strings.TrimPrefix(text, textline.BOM)) {
		block = "## From STATE.md" + eol
		if !strings.HasSuffix(text, "\n") {
			block = eol + block
		}
		block = eol + block
	}
	for i, e := range added {
		if i == 0 || !isItem(textline.First(e)) {
			block += eol
		}
		block += strings.ReplaceAll(e, "\n", eol) + eol
	}
	return text + block, added
}

// addDecisions appends the missing entries to DECISIONS.md.
func (g *migrator) addDecisions(entries []string) error {
	return g.dir.Rewrite("DECISIONS.md", func(old []byte) ([]byte, error) {
		next, added := withDecisions(string(old), entries)
		if len(added) == 0 {
			return nil, nil
		}
		return []byte(next), nil
	})
}

var decisionID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bD-([0-9]{1,6})\b`) })

// Decide appends project-wide decisions to DECISIONS.md, each a line with the next free number
// and the date, and returns their numbers.
func (d *Dir) Decide(ctx context.Context, at time.Time, texts ...string) (ids []string, err error) {
	err = d.Locked(ctx, func(statedir.Held) error {
		return d.Rewrite("DECISIONS.md", func(old []byte) ([]byte, error) {
			var next []byte
			next, ids = withNewDecisions(old, at, texts)
			return next, nil
		})
	})
	return ids, err
}

func withNewDecisions(old []byte, at time.Time, texts []string) (next []byte, ids []string) {
	text, last := string(old), 0
	for _, m := range decisionID().FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1]) // the pattern allows six digits at most
		last = max(last, n)
	}
	eol := textline.End(textline.First(text))
	if textline.Blank(strings.TrimPrefix(text, textline.BOM)) {
		text += "# Decisions" + eol + eol
	} else if !strings.HasSuffix(text, "\n") {
		text += eol
	}
	for _, t := range texts {
		last++
		id := "D-" + strconv.Itoa(last)
		ids = append(ids, id)
		text += fmt.Sprintf("- %s, %s: %s%s", id, at.UTC().Format(time.DateOnly), prose(t), eol)
	}
	return []byte(text), ids
}
