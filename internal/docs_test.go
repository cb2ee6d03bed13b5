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

// Numbers change when branches meet, so a link that shows a decision's number must lead to that
// decision.
func TestDecisionLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/design/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range decisionLink.FindAllStringSubmatch(string(text), -1) {
			file := filepath.Join(filepath.Dir(page), filepath.FromSlash(link[2]))
			if filepath.Base(filepath.Dir(file)) != "decisions" || !strings.HasPrefix(filepath.Base(file), link[1]+"-") {
				t.Errorf("%s: the label and the link differ: %s", page, link[0])
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// checkDecisions lists what is wrong with a directory of decisions.
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
		title, wrong := readDecision(name, string(text))
		number := fmt.Sprintf("%04d", i+1)
		if !strings.HasPrefix(name, number+"-") {
			wrong = append(wrong, "should be number "+number)
		}
		for _, w := range wrong {
			problems = append(problems, name+": "+w)
		}
		rows = append(rows, fmt.Sprintf("| [%s](%s) | %s |", number, name, title))
	}
	return append(problems, checkIndex(string(index), rows)...), nil
}

var (
	decisionName  = regexp.MustCompile(`^\d{4}-[a-z0-9]+(-[a-z0-9]+)*\.md$`)
	decisionStart = regexp.MustCompile(`^# (\d{4})\. (\S.*)\n\n\S`)
	decisionLink  = regexp.MustCompile(`\[(\d{4})\]\(([^)]*)\)`)
)

// readDecision takes the beginning of a decision apart.
func readDecision(name, text string) (title string, wrong []string) {
	if !decisionName.MatchString(name) {
		wrong = append(wrong, "isn't named NNNN-a-few-words.md")
	}
	m := decisionStart.FindStringSubmatch(text)
	if m == nil {
		return "", append(wrong, `doesn't start with "# NNNN. Title" and a text`)
	}
	if !strings.HasPrefix(name, m[1]+"-") {
		wrong = append(wrong, "calls itself "+m[1])
	}
	return m[2], wrong
}

// checkIndex compares the rows of the index, which has a table for each theme, with what they
// should be.
func checkIndex(index string, want []string) []string {
	var have, problems []string
	last := "" // in this table
	for line := range strings.Lines(index) {
		if strings.HasPrefix(line, "#") {
			last = ""
		}
		if !strings.HasPrefix(line, "| [") {
			continue
		}
		row := strings.TrimSuffix(line, "\n")
		switch {
		case !slices.Contains(want, row):
			problems = append(problems, "README.md: a row matches no file: "+row)
		case slices.Contains(have, row):
			problems = append(problems, "README.md: a row is there twice: "+row)
		case row < last:
			problems = append(problems, "README.md: a table isn't in the order of the numbers: "+row)
		}
		have, last = append(have, row), row
	}
	for _, row := range want {
		if !slices.Contains(have, row) {
			problems = append(problems, "README.md: no table has "+row)
		}
	}
	return problems
}

func TestDecisionsFindsFaults(t *testing.T) {
	const (
		one, two, three = "0001-one.md", "0002-two.md", "0003-three.md"
		oneRow          = "| [0001](0001-one.md) | One |\n"
		threeRow        = "| [0003](0003-three.md) | Three |\n"
	)
	good := map[string]string{
		one:   "# 0001. One\n\nText\n",
		two:   "# 0002. Two\n\nText\n",
		three: "# 0003. Three\n\nText\n",
		"README.md": "# Decisions\n\n## A\n\n| Number | Decision |\n|---|---|\n" + oneRow + threeRow +
			"\n## B\n\n| Number | Decision |\n|---|---|\n| [0002](0002-two.md) | Two |\n",
	}
	for _, c := range []struct {
		name, file, old, new string
		want                 string // part of a problem; "" for none
	}{
		{name: "good"},
		{"no text", two, "Text\n", "", "doesn't start with"},
		{"another number", two, "# 0002", "# 0003", "calls itself 0003"},
		{"another title in the index", "README.md", "| Two |", "| Three |", "matches no file"},
		{"not in the index", "README.md", "| [0002](0002-two.md) | Two |\n", "", "no table has | [0002]"},
		{"twice in the index", "README.md", oneRow, oneRow + oneRow, "twice"},
		{"out of order", "README.md", oneRow + threeRow, threeRow + oneRow, "order"},
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
	index := &fstest.MapFile{Data: []byte(good["README.md"])}
	gap := fstest.MapFS{"README.md": index, one: {Data: []byte(good[one])}, three: {Data: []byte(good[three])}}
	expectProblem(t, "gap", gap, "0003-three.md: should be number 0002")
	stray := fstest.MapFS{"README.md": index, one: {Data: []byte(good[one])}, "0002_two.txt": {Data: []byte(good[two])}}
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
