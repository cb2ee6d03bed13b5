package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"greenlight/internal/attemptlog"
	"greenlight/internal/git"
	"greenlight/internal/jsondoc"
	"greenlight/internal/ops"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
	"greenlight/internal/term"
	"greenlight/internal/text/markdown"
	"greenlight/internal/tracker"
)

const contractsFile = ".greenlight/CONTRACTS.md"

// A debugSlice is what gl debug reports about one slice.
type debugSlice struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	File      *string           `json:"file"` // relative to the root; null for a slice that is only in the graph
	Class     plan.Class        `json:"class"`
	Fields    map[string]string `json:"fields"`  // the front matter; for a slice without a file, what is known
	Corrupt   *string           `json:"corrupt"` // why its file can't be read
	Why       whySlice          `json:"why"`     // as in gl why --json
	Claim     *debugClaim       `json:"claim"`   // null if nobody has it
	Log       *debugLog         `json:"log"`     // of the last attempt
	Files     []string          `json:"files"`   // those that its file names
	Contracts []debugContract   `json:"contracts"`

	order []ops.Field
	lines []string // the attempts in words
}

type debugClaim struct {
	Session *string    `json:"session"` // token of the claim; null for an unknown session
	Holder  *string    `json:"holder"`  // Claude Code's session id, if the claim was made from a session
	Changed *time.Time `json:"changed"` // when the slice's file last changed
	Stale   bool       `json:"stale"`   // the file hasn't changed for parallel.stale_minutes
}

type debugLog struct {
	Attempt int      `json:"attempt" jsonschema:"minimum=0"`
	File    string   `json:"file"`  // relative to the root
	Lines   []string `json:"lines"` // its end, as gl logs shows it
}

type debugContract struct {
	ID      string  `json:"id"`
	Heading *string `json:"heading"` // in CONTRACTS.md; null if it isn't there
	Line    *int    `json:"line"`
}

// debugLines is how much of a log's end is reported.
const debugLines = 20

func (x *debugging) slice(id string) (*debugSlice, error) {
	st := x.p.State(id)
	recs, err := x.pr.Runs.Last(id)
	if err != nil {
		return nil, err
	}
	s := &debugSlice{ID: id, Name: st.Name, File: jsondoc.OrNull(st.File), Class: st.Class, Corrupt: jsondoc.OrNull(st.Corrupt),
		Fields: map[string]string{}, Why: newWhySlice(x.pr, x.p, id, recs[id], x.now), Files: []string{}, Contracts: []debugContract{}}
	if st.Corrupt == "" {
		if s.order, err = ops.Fields(x.pr, st); err != nil {
			return nil, err
		}
	}
	for _, f := range s.order {
		s.Fields[f.Key] = f.Value
	}
	if st.Session != "" || st.Class == plan.Active {
		s.Claim = x.claim(st)
	}
	for _, rec := range recs[id] {
		s.lines = append(s.lines, attemptText(st, rec, x.now))
	}
	if len(recs[id]) > 0 {
		last := recs[id][0]
		s.Log = &debugLog{Attempt: last.N, File: paths.Relative(x.pr.Root, x.pr.Runs.LogPath(id, last.N)),
			Lines: jsondoc.OrEmpty(attemptlog.End(x.pr.Runs.LogPath(id, last.N), last.Stream, debugLines))}
	}
	return s, x.body(s)
}

func (x *debugging) claim(st *plan.State) *debugClaim {
	c := &debugClaim{Session: jsondoc.OrNull(st.Session), Stale: st.Stale}
	if st.Session != "" {
		c.Holder = jsondoc.OrNull(x.pr.Runs.Holder(st.ID, st.Session))
	}
	if !st.Changed.IsZero() {
		changed := st.Changed.UTC()
		c.Changed = &changed
	}
	return c
}

// body reads the files and contracts that the slice's file names.
func (x *debugging) body(s *debugSlice) error {
	if x.pr.Slices == nil {
		return nil
	}
	f, err := x.pr.Slices.Read(s.ID)
	if errors.Is(err, tracker.ErrNotFound) || s.Corrupt != nil {
		return nil
	}
	if err != nil {
		return err
	}
	text := string(f.Bytes())
	if part, ok := markdown.Section(text, "Files"); ok {
		for _, item := range listItems(part) {
			path := strings.TrimSuffix(firstWord(item), ",")
			if filepath.IsLocal(path) && strings.ContainsAny(path, "./") && !slices.Contains(s.Files, path) {
				s.Files = append(s.Files, path)
			}
		}
	}
	part, _ := markdown.Section(text, "Contracts")
	names := listItems(part)
	if field, ok := f.Get("contracts"); ok {
		names = append(names, strings.Split(strings.Trim(field, "[]"), ",")...)
	}
	contracts, _ := os.ReadFile(filepath.Join(x.pr.Root, contractsFile)) // without it none of them is found
	for _, name := range names {
		id := contractID().FindString(strings.TrimLeft(name, "*`\"' \t["))
		if id != "" && !slices.ContainsFunc(s.Contracts, func(c debugContract) bool { return c.ID == id }) {
			s.Contracts = append(s.Contracts, findContract(string(contracts), id))
		}
	}
	return nil
}

var contractID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9]+)*`) })

// listItems are the texts of a list's items.
func listItems(text string) []string {
	var items []string
	for l := range markdown.Lines(text) {
		body := strings.TrimLeft(l.Text, " \t")
		for _, mark := range []string{"- ", "* ", "+ "} {
			if item, ok := strings.CutPrefix(body, mark); ok && !l.Code {
				items = append(items, strings.TrimSpace(item))
			}
		}
	}
	return items
}

// firstWord is a text up to the first blank, or what stands in backticks at its beginning.
func firstWord(s string) string {
	if quoted, ok := strings.CutPrefix(s, "`"); ok {
		word, _, _ := strings.Cut(quoted, "`")
		return word
	}
	word, _, _ := strings.Cut(s, " ")
	return word
}

// findContract finds the heading that names the contract.
func findContract(text, id string) debugContract {
	c := debugContract{ID: id}
	for l := range markdown.Lines(text) {
		if l.Level > 0 && hasWord(l.Title, id) {
			c.Heading, c.Line = &l.Title, &l.N
			break
		}
	}
	return c
}

// hasWord says whether the word stands in s, and isn't a part of a longer one: S-1 is neither in S-10 nor in S-1.2.
// Case doesn't count.
func hasWord(s, word string) bool {
	s, word = strings.ToLower(s), strings.ToLower(word)
	alnum := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; word != ""; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRuneInString(s[:from])
		after, size := utf8.DecodeRuneInString(s[to:])
		behind, _ := utf8.DecodeRuneInString(s[to+size:])
		if !alnum(before) && !alnum(after) && !(after == '.' && unicode.IsDigit(behind)) {
			return true
		}
		at = from + 1
	}
	return false
}

// git asks git, of a slice about its files.
func (x *debugging) git(ctx context.Context, id string, files []string) debugGit {
	g := debugGit{Paths: jsondoc.OrEmpty(files), Commits: []git.Commit{}, Dirty: []string{}, Tags: []git.Tag{}}
	fail := func(err error) debugGit {
		g.Error = jsondoc.OrNull(sanitize.Line(err.Error()))
		return g
	}
	branch, err := git.Branch(ctx, x.pr.Root)
	if err != nil {
		return fail(err)
	}
	g.Branch = jsondoc.OrNull(branch)
	commits, err := git.Log(ctx, x.pr.Root, 5, files...)
	if err != nil {
		return fail(err)
	}
	g.Commits = append(g.Commits, commits...)
	var dirty []string
	if len(files) > 0 {
		dirty, err = git.DirtyAt(ctx, x.pr.Root, files...)
	} else {
		dirty, err = git.Dirty(ctx, x.pr.Root, ".greenlight")
	}
	if err != nil {
		return fail(err)
	}
	g.Dirty = append(g.Dirty, dirty...)
	tags, err := git.Tags(ctx, x.pr.Root)
	if err != nil {
		return fail(err)
	}
	for _, t := range tags {
		if id != "" && hasWord(t.Name, id) {
			g.Tags = append(g.Tags, t)
		}
	}
	return g
}

func (x *debugging) tellSlice(s *debugSlice) {
	title := s.ID
	if s.Name != s.ID {
		title += ": " + s.Name
	}
	x.app.IO.Printf("%s\n", x.app.IO.Paint(term.Bold, sanitize.Line(title)))
	if s.File != nil {
		x.line("%s", *s.File)
	}
	for _, f := range s.order {
		if f.Value != "" && f.Key != "id" {
			x.line("%s: %s", f.Key, f.Value)
		}
	}
	x.section("Why")
	r := x.p.Why(s.ID, x.now)
	r.Next = nil
	x.line("%s", r)
	for _, hop := range x.p.Hops(s.ID, x.now) {
		x.line("  %s", hop)
	}
	for _, command := range s.Why.Next {
		x.line("run %s", command)
	}
	x.tellClaim(s)
	x.section("Attempts")
	for _, l := range s.lines {
		x.line("%s", l)
	}
	if s.Log == nil {
		x.line("none")
		return
	}
	x.line("the end of %s:", s.Log.File)
	for _, l := range s.Log.Lines {
		x.line("    %s", l)
	}
}

func (x *debugging) tellClaim(s *debugSlice) {
	x.section("Claim")
	if s.Claim == nil {
		x.line("none")
		return
	}
	x.line("%s", x.p.State(s.ID).ClaimText(x.now))
	if s.Claim.Holder != nil {
		x.line("made in Claude Code's session %s", *s.Claim.Holder)
	}
}

func (x *debugging) tellContracts(list []debugContract) {
	x.section("Contracts")
	if len(list) == 0 {
		x.line("the slice's file names none")
	}
	for _, c := range list {
		if c.Heading == nil {
			x.line("%s: not in %s", c.ID, contractsFile)
		} else {
			x.line("%s: %s (%s, line %d)", c.ID, *c.Heading, contractsFile, *c.Line)
		}
	}
}
