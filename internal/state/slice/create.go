package slice

import (
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/sliceid"
)

// template is an empty slice file.
const template = `---
id:
status:
step:
milestone:
started:
updated:
tests:
security_tests:
session:
deps:
---

`

// newFile returns a file for a slice that exists only in the graph, in the state given by its
// row in STATE.md. The caller holds s.mu.
func (v *view) newFile(id, now string) (*File, error) {
	it := v.item(id)
	f, err := ParseFile([]byte(template))
	if err != nil {
		return nil, err
	}
	for _, set := range [][2]string{
		{"id", id}, {"status", it.Status}, {"step", it.Step},
		{"milestone", textline.Join(it.Milestone)}, {"updated", now},
		{"tests", strconv.Itoa(it.Tests)}, {"security_tests", strconv.Itoa(it.SecurityTests)},
	} {
		if err := f.Set(set[0], set[1]); err != nil {
			return nil, err
		}
	}
	it.Deps = slices.DeleteFunc(slices.Clone(it.Deps), func(d string) bool {
		return sliceid.Valid(d) != nil
	})
	if err := f.SetList("deps", it.Deps); err != nil {
		return nil, err
	}
	if e := v.ix.entry(id); e != nil && len(e.wraps) > 0 {
		if err := f.SetList("wraps", e.wraps); err != nil {
			return nil, err
		}
	}
	f.Rest += v.body(it)
	return f, nil
}

// body returns the Markdown of a new slice file.
func (v *view) body(it plan.Item) string {
	var b strings.Builder
	b.WriteString("# " + it.ID)
	if it.Name != it.ID {
		b.WriteString(": " + it.Name)
	}
	b.WriteString("\n")
	var what, why string
	var contracts, files []string
	if e := v.ix.entry(it.ID); e != nil {
		what, why, contracts, files = lines(e.description), lines(e.why), e.contracts,
			e.List("files")
	}
	section := func(name, text string, list []string) {
		b.WriteString("\n## " + name + "\n")
		if text != "" {
			b.WriteString(text + "\n")
		}
		for _, item := range list {
			b.WriteString("- " + textline.Join(item) + "\n")
		}
	}
	section("Why", why, nil)
	section("What", what, nil)
	section("Dependencies", "", v.describe(it.Deps))
	section("Contracts", "", contracts)
	section("Decisions", "", nil)
	section("Files", "", files)
	return b.String()
}

// describe returns a line for each slice with its name: "S-26: Accounts". A status here would be
// that of now, for good.
func (v *view) describe(ids []string) []string {
	told := v.warnings // other callers report these
	defer func() { v.warnings = told }()
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id
		if !v.ix.known(id) {
			continue
		}
		if d := v.item(id); d.Name != id {
			list[i] += ": " + d.Name
		}
	}
	return list
}

// lines escapes text of one or more lines so that neither Markdown nor the next reading of the
// file takes it for markup.
func lines(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		all = append(all, indent+prose(line))
	}
	return strings.Trim(strings.Join(all, "\n"), "\n")
}

// prose escapes one line of text so that neither Markdown nor the next reading of the file
// takes it for markup.
func prose(text string) string {
	text = textline.Join(text)
	for _, mark := range []string{"#", "---", "```", "~~~", "<<<<<<<"} {
		if strings.HasPrefix(text, mark) {
			return `\` + text
		}
	}
	return text
}
