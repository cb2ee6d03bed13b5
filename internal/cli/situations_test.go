package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/project/projecttest"

	"github.com/spf13/cobra"
)

// A situation is a place where a command line may be typed.
type situation struct {
	files  map[string]string // under .greenlight; nil: no project
	inside bool
}

// situations are the columns of the table below.
var situations = []situation{
	{everyClass, true},
	{nil, false},
	{legacy, false},
	{map[string]string{"../.planning/ROADMAP.md": "# Roadmap\n\n- [x] **Phase 1: Core** - a\n- [ ] **Phase 2: Cart** - b\n",
		"../.planning/STATE.md": "# Project State\n\nPhase: 2 of 2 (Cart)\nStatus: Ready to plan\n"}, false},
}

// Each command, with valid arguments, and its exit codes: inside an agent in a project of slices,
// outside of any project, in a project that is one STATE.md, and in one of GSD's. There is no agent
// and no tmux here.
var inSituations = map[string][4]int{
	"accept S-2":                      {1, 1, 1, 1},
	"add-slice name":                  {0, 1, 0, 1},
	"answer S-2 text":                 {1, 1, 1, 1},
	"assess":                          {0, 1, 127, 127},
	"attach":                          {1, 1, 1, 1},
	"board":                           {1, 1, 1, 1},
	"changelog":                       {0, 1, 0, 0},
	"check":                           {0, 0, 0, 0},
	"clean":                           {0, 1, 0, 0},
	"completion bash":                 {0, 0, 0, 0},
	"debug S-2":                       {0, 1, 0, 1},
	"demo --dir .":                    {1, 1, 1, 1},
	"design":                          {0, 1, 1, 1},
	"diff S-2":                        {1, 1, 1, 1},
	"do text":                         {1, 1, 1, 1},
	"doctor":                          {1, 1, 1, 1},
	"edit S-2":                        {1, 1, 1, 1},
	"events":                          {0, 1, 0, 0},
	"environment":                     {0, 0, 0, 0},
	"agents":                          {0, 0, 0, 0},
	"rehearsal":                       {0, 0, 0, 0},
	"graph":                           {0, 1, 0, 0},
	"gsd line":                        {1, 1, 1, 0},
	"gsd state-snapshot":              {1, 1, 1, 0},
	"help":                            {0, 0, 0, 0},
	"web --logout":                    {0, 1, 0, 0},
	"hold":                            {0, 1, 0, 0},
	"budget":                          {0, 1, 0, 0},
	"cost":                            {0, 1, 0, 0},
	"import -":                        {2, 2, 2, 2},
	"init":                            {0, 1, 1, 1},
	"init --no-agent":                 {1, 0, 1, 1},
	"install --local --agent codex":   {0, 0, 0, 0},
	"land":                            {1, 1, 1, 1},
	"logs S-2":                        {1, 1, 1, 1},
	"map":                             {0, 1, 127, 127},
	"migrate --dry-run":               {0, 1, 0, 1},
	"pause S-2":                       {0, 1, 0, 1},
	"quick text":                      {0, 1, 127, 127},
	"ref isolation":                   {0, 0, 0, 0},
	"reject S-2 text":                 {1, 1, 1, 1},
	"rehearse --spec here":            {2, 1, 2, 2},
	"remove S-2":                      {0, 1, 1, 1},
	"rename S-2 S-20":                 {0, 1, 1, 1},
	"resume S-2":                      {1, 1, 1, 1},
	"report":                          {0, 1, 0, 0},
	"retry S-2":                       {0, 1, 0, 1},
	"review":                          {0, 1, 0, 0},
	"roadmap":                         {1, 1, 1, 0},
	"roadmap archive":                 {0, 1, 1, 1},
	"roadmap milestone":               {0, 1, 1, 1},
	"say S-2 text":                    {0, 1, 0, 1},
	"settings":                        {0, 0, 0, 0},
	"settings get mode":               {0, 0, 0, 0},
	"settings mode yolo":              {0, 1, 0, 0},
	"settings model security opus":    {0, 1, 0, 0},
	"settings profile budget":         {0, 1, 0, 0},
	"settings set parallel.max 3":     {0, 1, 0, 0},
	"salvage":                         {0, 1, 0, 0},
	"ship":                            {0, 1, 1, 1},
	"slice":                           {0, 1, 127, 127},
	"slice --dry-run":                 {0, 1, 0, 0},
	"state claim S-2":                 {0, 1, 0, 1},
	"state note S-2 --decision text":  {0, 1, 0, 1},
	"state overview":                  {0, 1, 0, 1},
	"state release S-2":               {0, 1, 0, 1},
	"state render":                    {0, 1, 0, 1},
	"state set S-2 step=tests":        {0, 1, 0, 1},
	"state show S-2":                  {0, 1, 0, 1},
	"status":                          {0, 1, 0, 0},
	"statusline":                      {0, 0, 0, 0},
	"trust":                           {1, 1, 0, 0},
	"stop --all":                      {0, 1, 0, 0},
	"sw init":                         {0, 0, 0, 0},
	"sw status":                       {1, 1, 1, 1},
	"uninstall --local --agent codex": {0, 0, 0, 0},
	"undo S-2":                        {1, 1, 1, 1},
	"verify":                          {1, 1, 1, 1},
	"version":                         {0, 0, 0, 0},
	"why S-2":                         {0, 1, 0, 1},
	"serve":                           {1, 1, 1, 1}, // without gl-remote
	"workers":                         {0, 1, 0, 0},
	"workers drain x":                 {1, 1, 1, 1},
	"workers invite":                  {1, 1, 1, 1},
	"workers revoke x":                {1, 1, 1, 1},
	"worker":                          {1, 1, 1, 1}, // without gl-remote
	"wrap":                            {0, 1, 127, 127},
}

// Every command has the expected exit code in every situation; a failure prints one message, and
// outside of a project how to begin one. With a single STATE.md and with GSD's state the documents
// conform to their schemas, too.
func TestEveryCommandInEverySituation(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(git, filepath.Join(bin, "git")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("HOME", t.TempDir())
	top, all := commandTree()
	schemas := schemasOf(t, top)
	seen := map[*cobra.Command]bool{}
	for line, want := range inSituations {
		words := strings.Fields(line)
		c, _, err := top.Find(words)
		if err != nil {
			t.Fatal(err)
		}
		seen[c] = true
		for i, s := range situations {
			code, _, stderr := s.run(t, words...)
			if code != want[i] {
				t.Errorf("%d: gl %s: exit code %d, want %d: %s", i, line, code, want[i], stderr)
			}
			if n := strings.Count("\n"+stderr, "\ngl: "); n > 1 ||
				code > cmdutil.ExitFailed && n == 0 {
				t.Errorf("%d: gl %s: exit code %d, %d messages: %s", i, line, code, n, stderr)
			}
			if s.files == nil && code != 0 && strings.HasPrefix(stderr, "gl: ROOT") &&
				!strings.Contains(stderr, "init") && !strings.Contains(stderr, "gsd-new") {
				t.Errorf("gl %s outside of a project doesn't say what begins one: %s", line, stderr)
			}
			if i > 1 && c.Flags().Lookup("json") != nil && code == 0 {
				_, stdout, _ := s.run(t, slices.Insert(slices.Clone(words),
					strings.Count(c.CommandPath(), " "), "--json")...)
				if c.CommandPath() == "gl events" && stdout == "" {
					// a document for each event, and there are none
					continue
				}
				if err := conforms(t, schemas[c.CommandPath()], []byte(stdout)); err != nil {
					t.Errorf("%d: gl %s --json: %v", i, line, err)
				}
			}
		}
	}
	for _, c := range all {
		path := c.CommandPath()
		// whose scripts have a state for each
		ours := !strings.HasPrefix(path, "gl sw ") && (!strings.HasPrefix(path, "gl gsd ") || path == "gl gsd line")
		if ours && c.RunE != nil && !c.HasSubCommands() && !seen[c] {
			t.Errorf("%s: add it to inSituations", path)
		}
	}
}

// Wrong usage of any command exits 2, with one line on stderr that names the help.
func TestWrongUsageOfEveryCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, all := commandTree()
	s := situations[1] // wrong usage is reported before looking for a project
	for _, c := range all {
		words := strings.Fields(c.CommandPath())[1:]
		if len(words) == 0 || words[0] == "gsd" && len(words) > 1 && words[1] != "line" ||
			!c.Runnable() {
			continue // by GSD's own rules; a topic of help, not a command
		}
		lines := [][]string{append(slices.Clip(words), "--no-such-flag")}
		if c.Args != nil && !strings.Contains(c.Use, "...") &&
			c.Args(c, strings.Fields("1 2 3 4 5 6")) != nil {
			lines = append(lines, append(slices.Clip(words), "1", "2", "3", "4", "5", "6"))
		}
		if c.Args != nil && c.Args(c, nil) != nil {
			lines = append(lines, words)
		}
		for _, line := range lines {
			code, stdout, stderr := s.run(t, line...)
			if code != cmdutil.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 ||
				!strings.HasPrefix(stderr, "gl: ") || strings.Contains(stderr, "arg(s)") {
				t.Errorf("gl %s: exit code %d, %q, %q", strings.Join(line, " "), code,
					stdout, stderr)
			}
		}
	}
}

// run runs one command line in a fresh directory, which stderr shows as ROOT.
func (s situation) run(t *testing.T, line ...string) (code int, stdout, stderr string) {
	t.Helper()
	root := t.TempDir()
	if s.files != nil {
		root = projecttest.Write(t, s.files)
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(root)}
	if s.inside {
		environ = append(environ, "CLAUDECODE=1")
	}
	var out, errs bytes.Buffer
	code = Main(context.Background(), append([]string{"-C", root}, line...), strings.NewReader(""),
		&out, &errs, environ)
	return code, out.String(), strings.ReplaceAll(errs.String(), root, "ROOT")
}
