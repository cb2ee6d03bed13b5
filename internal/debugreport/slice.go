package debugreport

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"greenlight/internal/attempt"
	"greenlight/internal/durable"
	"greenlight/internal/explain"
	"greenlight/internal/jsondoc"
	"greenlight/internal/ops"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/text/markdown"
)

// ContractsFile has the project's contracts. It is relative to the root.
const ContractsFile = ".greenlight/CONTRACTS.md"

// A Slice is what gl debug reports about one slice.
type Slice struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	File      *string           `json:"file"` // relative to the root; null for a slice that is only in the graph
	Class     plan.Class        `json:"class"`
	Fields    map[string]string `json:"fields"`  // the front matter; for a slice without a file, what is known
	Corrupt   *string           `json:"corrupt"` // why its file can't be read
	Why       explain.Slice     `json:"why"`     // as in gl why --json
	Claim     *Claim            `json:"claim"`   // null if nobody has it
	Log       *Log              `json:"log"`     // of the last attempt
	Files     []string          `json:"files"`   // those that its file names
	Contracts []Contract        `json:"contracts"`

	Order   []ops.Field       `json:"-"` // Fields in the order of the file
	Records []*attempt.Record `json:"-"` // of the last attempts, the newest first
}

type Claim struct {
	Session *string    `json:"session"` // token of the claim; null for an unknown session
	Holder  *string    `json:"holder"`  // Claude Code's session id, if the claim was made from a session
	Changed *time.Time `json:"changed"` // when the slice's file last changed
	Stale   bool       `json:"stale"`   // the file hasn't changed for parallel.stale_minutes
}

type Contract struct {
	ID      string  `json:"id"`
	Heading *string `json:"heading"` // in CONTRACTS.md; null if it isn't there
	Line    *int    `json:"line"`
}

func newSlice(pr *project.Project, p *plan.Plan, id string, now time.Time) (*Slice, error) {
	st := p.State(id)
	all, err := pr.Runs.Last(id)
	if err != nil {
		return nil, err
	}
	recs := all[id]
	s := &Slice{ID: id, Name: st.Name, File: jsondoc.OrNull(st.File), Class: st.Class, Corrupt: jsondoc.OrNull(st.Corrupt),
		Fields: map[string]string{}, Why: explain.NewSlice(pr, p, id, recs, now), Files: []string{}, Contracts: []Contract{}, Records: recs}
	if st.Session != "" || st.Class == plan.Active {
		s.Claim = newClaim(pr, st)
	}
	if len(recs) > 0 {
		s.Log = newLog(pr, recs[0])
	}
	if st.Corrupt != "" {
		return s, nil
	}
	var text string
	if s.Order, text, err = ops.Contents(pr, st); err != nil {
		return nil, err
	}
	for _, f := range s.Order {
		s.Fields[f.Key] = f.Value
	}
	s.Files = append(s.Files, filesIn(text)...)
	s.Contracts = append(s.Contracts, findContracts(pr.Root, contractsIn(text, s.Fields["contracts"]))...)
	return s, nil
}

func newClaim(pr *project.Project, st *plan.State) *Claim {
	c := &Claim{Session: jsondoc.OrNull(st.Session), Stale: st.Stale}
	if st.Session != "" {
		c.Holder = jsondoc.OrNull(pr.Runs.Holder(st.ID, st.Session))
	}
	if !st.Changed.IsZero() {
		changed := st.Changed.UTC()
		c.Changed = &changed
	}
	return c
}

// filesIn returns the paths that the section Files of a slice's file lists.
func filesIn(text string) []string {
	section, _ := markdown.Section(text, "Files")
	var files []string
	for _, item := range listItems(section) {
		path := strings.TrimSuffix(firstWord(item), ",")
		if filepath.IsLocal(path) && strings.ContainsAny(path, "./") && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files
}

var contractID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9]+)*`) })

// contractsIn returns the ids of contracts that the section Contracts of a slice's file lists, then those in its field.
func contractsIn(text, field string) []string {
	section, _ := markdown.Section(text, "Contracts")
	var ids []string
	for _, name := range append(listItems(section), strings.Split(strings.Trim(field, "[]"), ",")...) {
		id := contractID().FindString(strings.TrimLeft(name, "*`\"' \t["))
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// findContracts looks contracts up in the file that has them.
func findContracts(root string, ids []string) []Contract {
	data, _ := durable.ReadFile(filepath.Join(root, ContractsFile)) // without it there are no headings
	var list []Contract
	for _, id := range ids {
		list = append(list, findContract(string(data), id))
	}
	return list
}

// findContract finds the first heading that names the contract.
func findContract(text, id string) Contract {
	c := Contract{ID: id}
	for l := range markdown.Lines(text) {
		if l.Level > 0 && hasWord(l.Title, id) {
			c.Heading, c.Line = &l.Title, &l.N
			break
		}
	}
	return c
}

// listItems returns the texts of a list's items.
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

// firstWord returns the text up to the first blank, or the code span that it begins with.
func firstWord(s string) string {
	if quoted, ok := strings.CutPrefix(s, "`"); ok {
		word, _, _ := strings.Cut(quoted, "`")
		return word
	}
	word, _, _ := strings.Cut(s, " ")
	return word
}

// hasWord reports whether s contains the word, and not only as a part of a longer one: S-1 is neither in S-10 nor in S-1.2.
// It ignores case.
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
