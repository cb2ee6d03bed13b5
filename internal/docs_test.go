package internal

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestDecisions(t *testing.T) {
	problems, err := checkDecisions(os.DirFS(filepath.Join("..", "docs", "decisions")))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("docs/decisions/%s", p)
	}
}

// Numbers change when branches are merged: a link that shows a decision's number must lead to
// that decision, which must exist.
func TestDecisionLinks(t *testing.T) {
	docs := filepath.Join("..", "docs")
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range decisionLink.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(link[2], "decisions/"+link[1]+"-") {
				t.Errorf("%s: the label and the link differ: %s", filepath.Base(page), link[0])
			}
			if _, err := os.Stat(filepath.Join(docs, link[2])); err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
			}
		}
	}
}

// checkDecisions returns the problems of a directory of decisions.
func checkDecisions(dir fs.FS) ([]string, error) {
	index, err := fs.ReadFile(dir, "README.md")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(dir, "*")
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(name string) bool { return name == "README.md" })
	var problems, rows []string
	for i, name := range files {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		title, status, wrong := readDecision(name, string(text))
		number := fmt.Sprintf("%04d", i+1)
		if !strings.HasPrefix(name, number+"-") {
			wrong = append(wrong, "should be number "+number)
		}
		for _, link := range decisionLink.FindAllStringSubmatch(status, -1) {
			switch {
			case !slices.Contains(files, link[2]) || !strings.HasPrefix(link[2], link[1]+"-"):
				wrong = append(wrong, "its status names no decision: "+link[0])
			case link[2] <= name:
				wrong = append(wrong, "its status names a decision that isn't later: "+link[0])
			}
		}
		for _, w := range wrong {
			problems = append(problems, name+": "+w)
		}
		rows = append(rows, fmt.Sprintf("| [%s](%s) | %s | %s |", number, name, title, status))
	}
	return append(problems, checkIndex(string(index), rows)...), nil
}

var (
	decisionName   = regexp.MustCompile(`^\d{4}-[a-z0-9]+(-[a-z0-9]+)*\.md$`)
	decisionStart  = regexp.MustCompile(`^# (\d{4})\. (\S.*)\n\nStatus: (.*)\n\n\S`)
	decisionLink   = regexp.MustCompile(`\[(\d{4})\]\(([^)]*)\)`)
	decisionStatus = regexp.MustCompile(`^(accepted|(superseded|accepted, amended) by \[\d{4}\]\([^)]*\))$`)
)

// readDecision parses the beginning of a decision.
func readDecision(name, text string) (title, status string, wrong []string) {
	if !decisionName.MatchString(name) {
		wrong = append(wrong, "isn't named NNNN-a-few-words.md")
	}
	m := decisionStart.FindStringSubmatch(text)
	if m == nil {
		return "", "", append(wrong, `doesn't start with "# NNNN. Title", a status line and a text`)
	}
	if !strings.HasPrefix(name, m[1]+"-") {
		wrong = append(wrong, "calls itself "+m[1])
	}
	if !decisionStatus.MatchString(m[3]) {
		wrong = append(wrong, fmt.Sprintf("unknown status %q", m[3]))
	}
	return m[2], m[3], wrong
}

// checkIndex compares the rows of the table with the expected ones.
func checkIndex(index string, want []string) []string {
	var have, problems []string
	for line := range strings.Lines(index) {
		if strings.HasPrefix(line, "| [") {
			have = append(have, strings.TrimSuffix(line, "\n"))
		}
	}
	for _, row := range want {
		if !slices.Contains(have, row) {
			problems = append(problems, "README.md: the table lacks "+row)
		}
	}
	for _, row := range have {
		if !slices.Contains(want, row) {
			problems = append(problems, "README.md: the table has a row that matches no file: "+row)
		}
	}
	if len(problems) == 0 && !slices.Equal(have, want) {
		problems = append(problems, "README.md: the table isn't in the order of the files")
	}
	return problems
}

func TestDecisionsFindsFaults(t *testing.T) {
	const one, two = "0001-one.md", "0002-two.md"
	good := map[string]string{
		one: "# 0001. One\n\nStatus: superseded by [0002](0002-two.md)\n\nText\n",
		two: "# 0002. Two\n\nStatus: accepted\n\nText\n",
		"README.md": "# Decisions\n\n| Number | Decision | Status |\n|---|---|---|\n" +
			"| [0001](0001-one.md) | One | superseded by [0002](0002-two.md) |\n| [0002](0002-two.md) | Two | accepted |\n",
	}
	for _, c := range []struct {
		name, file, old, new string
		want                 string // part of a problem; "" for none
	}{
		{name: "good"},
		{"amended", one, "superseded", "accepted, amended", "the table lacks"},
		{"unknown status", two, "accepted", "proposed", `0002-two.md: unknown status "proposed"`},
		{"no link", one, "[0002](0002-two.md)", "0002", "unknown status"},
		{"replaced by no decision", one, "(0002-two.md)", "(0003-three.md)", "names no decision"},
		{"link and number differ", one, "[0002]", "[0001]", "names no decision"},
		{"replaced by itself", one, "[0002](0002-two.md)", "[0001](0001-one.md)", "isn't later"},
		{"no status", two, "Status: accepted\n\n", "", "doesn't start with"},
		{"no text", two, "Text\n", "", "doesn't start with"},
		{"another number", two, "# 0002", "# 0003", "calls itself 0003"},
		{"another title in the index", "README.md", "| Two |", "| Three |", "matches no file"},
		{"not in the index", "README.md", "| [0002](0002-two.md) | Two | accepted |\n", "", "the table lacks | [0002]"},
		{"twice in the index", "README.md", "| Two | accepted |\n", "| Two | accepted |\n| [0002](0002-two.md) | Two | accepted |\n", "order"},
	} {
		dir := fstest.MapFS{}
		for name, text := range good {
			if name == c.file {
				text = strings.Replace(text, c.old, c.new, 1)
			}
			dir[name] = &fstest.MapFile{Data: []byte(text)}
		}
		expectProblem(t, c.name, dir, c.want)
	}
	gap := fstest.MapFS{"README.md": {Data: []byte(good["README.md"])}, one: {Data: []byte(good[one])}, "0003-two.md": {Data: []byte(good[two])}}
	expectProblem(t, "gap", gap, "0003-two.md: should be number 0002")
	stray := fstest.MapFS{"README.md": {Data: []byte(good["README.md"])}, one: {Data: []byte(good[one])}, "0002_two.txt": {Data: []byte(good[two])}}
	expectProblem(t, "stray file", stray, "0002_two.txt: isn't named")
}

func expectProblem(t *testing.T, name string, dir fs.FS, want string) {
	t.Helper()
	problems, err := checkDecisions(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, want) })
	if want == "" && len(problems) > 0 || want != "" && !found {
		t.Errorf("%s: %q", name, problems)
	}
}
