package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"greenlight/cmd/gl/scripts"
	"greenlight/internal/base/testfiles"
)

// Each page of docs/guide is typed into a shell, with the real gl and git: all of its commands
// succeed, and print what a console block shows. testdata/guide/NAME.sh prepares what the page
// takes for granted. What can't run here has the reason above it: <!-- not run: needs a phone -->.
// A page is read in a minute or two: details belong into the pages beside the guides.
func TestGuides(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "guide", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := readGuide(testfiles.Get(t, filepath.Dir(page), filepath.Base(page)))
			if err != nil {
				t.Fatal(err)
			}
			if g.words > 350 {
				t.Errorf("%d words beside the commands: 350 at most", g.words)
			}
			for _, s := range g.skipped {
				t.Logf("not run: %s\n%s", s.reason, s.text)
			}
			if len(g.typed) > 0 {
				if name != "start" {
					testfiles.Slow(t)
				}
				g.check(t, typeGuide(t, name, g.typed))
			}
		})
	}
}

// A typed is what a page has a person type at once: a block of sh, or a line of a console block
// with what it prints.
type typed struct {
	line   int
	text   string
	prints []string
	reason string // why it isn't run
}

type guide struct {
	typed, skipped []typed
	words          int // outside of blocks
}

var word = regexp.MustCompile(`\S*[\pL\pN]\S*`)

const notRun = "<!-- not run: "

// readGuide finds the commands of a page.
func readGuide(page string) (*guide, error) {
	g := &guide{}
	kind, reason := "", ""
	var block []typed
	for i, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && kind == "":
			kind, block = fence, nil
			if fence == "" {
				return nil, fmt.Errorf("line %d: a block without a language", i+1)
			}
		case isFence:
			for _, b := range block {
				if b.reason = reason; reason != "" {
					g.skipped = append(g.skipped, b)
				} else {
					g.typed = append(g.typed, b)
				}
			}
			kind, reason = "", ""
		case kind == "sh" && len(block) > 0:
			block[0].text += "\n" + line
		case kind == "sh":
			block = []typed{{line: i + 1, text: line}}
		case kind == "console" && strings.HasPrefix(line, "$ "):
			block = append(block, typed{line: i + 1, text: line[2:]})
		case kind == "console" && len(block) == 0:
			return nil, fmt.Errorf("line %d: output without a command", i+1)
		case kind == "console":
			last := &block[len(block)-1]
			last.prints = append(last.prints, line)
		case kind != "":
		case strings.HasPrefix(line, notRun):
			if reason = strings.TrimSuffix(line[len(notRun):], " -->"); reason == "" {
				return nil, fmt.Errorf("line %d: no reason", i+1)
			}
		case strings.HasPrefix(line, "    gl ") || strings.HasPrefix(line, "    $ "):
			return nil, fmt.Errorf("line %d: commands belong into a block ```sh or ```console", i+1)
		case line != "" && reason != "":
			return nil, fmt.Errorf("line %d: a reason for no block", i+1)
		default:
			g.words += len(word.FindAllString(line, -1))
		}
	}
	if kind != "" {
		return nil, errors.New("a block has no end")
	}
	return g, nil
}

// typeGuide runs the commands in one shell, in a directory shop, and returns the output of each.
func typeGuide(t *testing.T, name string, commands []typed) []string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "glg") // a socket's path has at most 107 bytes
	testfiles.Check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	shop, home := filepath.Join(dir, "shop"), filepath.Join(dir, "home")
	for _, d := range []string{shop, home, filepath.Join(dir, "tmp"), filepath.Join(dir, "calls")} {
		testfiles.Check(t, os.Mkdir(d, 0o755))
	}
	setups, err := filepath.Abs(filepath.Join("testdata", "guide"))
	testfiles.Check(t, err)
	env := []string{"PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"), "HOME=" + home, "TMUX_TMPDIR=" + dir,
		"TMPDIR=" + filepath.Join(dir, "tmp"), "FAKE_DIR=" + filepath.Join(dir, "calls"),
		"GUIDE=" + setups, "TERM=dumb", "LANG=C.UTF-8", "GORACE=" + scripts.RaceOptions,
		"GIT_AUTHOR_NAME=you", "GIT_AUTHOR_EMAIL=you@localhost",
		"GIT_COMMITTER_NAME=you", "GIT_COMMITTER_EMAIL=you@localhost"}
	shell := func(script string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, "sh", "-e", script)
		c.Dir, c.Env, c.WaitDelay = shop, env, time.Second
		out, err := c.CombinedOutput()
		return string(out), err
	}
	setup := filepath.Join(setups, name+".sh")
	if _, err := os.Stat(setup); !errors.Is(err, fs.ErrNotExist) {
		if out, err := shell(setup); err != nil {
			t.Fatalf("%s: %v\n%s", setup, err, out)
		}
	}
	var b strings.Builder
	for i, c := range commands {
		fmt.Fprintf(&b, "echo; echo @@%d\n%s\n", i, c.text)
	}
	testfiles.Put(t, dir, "typed", b.String())
	out, err := shell(filepath.Join(dir, "typed"))
	parts := strings.Split(out, "\n@@")[1:]
	if err != nil {
		t.Fatalf("line %d: %v\n%s", commands[len(parts)-1].line, err, out)
	}
	return parts
}

// check compares what console blocks show with what was printed: each line is there, in this order.
func (g *guide) check(t *testing.T, outputs []string) {
	t.Helper()
	for i, c := range g.typed {
		rest := strings.Split(alike(outputs[i]), "\n")
		for _, want := range c.prints {
			want = alike(want)
			if want == "" || want == "…" {
				continue
			}
			found := false
			for len(rest) > 0 && !found {
				found = rest[0] == want
				rest = rest[1:]
			}
			if !found {
				t.Errorf("line %d: %s doesn't print %q, or not there:\n%s", c.line, c.text, want, outputs[i])
				break
			}
		}
	}
}

var differing = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`/tmp/glg\d+/shop|/home/you/shop`), "SHOP"},
	{regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `), ""}, // only on a terminal
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DAY"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`), "TIME"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m)\b`), "DURATION"},
	{regexp.MustCompile(`\b[0-9a-f]{7,40}\b`), "COMMIT"},
	{regexp.MustCompile(`[ \t]+\n`), "\n"},
}

// alike replaces what differs from run to run.
func alike(text string) string {
	for _, d := range differing {
		text = d.what.ReplaceAllString(text, d.with)
	}
	return strings.TrimRight(text, " \n")
}

func TestReadGuide(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"no language", "```\ngl\n```\n", "without a language"},
		{"no command", "```console\noutput\n```\n", "output without a command"},
		{"indented", "    gl status\n", "belong into a block"},
		{"no end", "```sh\ngl\n", "has no end"},
		{"no reason", notRun + " -->\n```sh\ngl\n```\n", "no reason"},
		{"nothing to skip", notRun + "it is late -->\nText\n", "a reason for no block"},
	} {
		if _, err := readGuide(c.page); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	g, err := readGuide("```sh\na\nb\n```\n```console\n$ c\nd\n\n$ e\n```\n" + notRun + "why -->\n```sh\nf\n```\n```json\ng\n```\nTwo | words\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(g.typed, g.skipped, g.words), "[{2 a\nb [] } {6 c [d ] } {9 e [] }] [{13 f [] why}] 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
