package slice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/suggest"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
)

// A Setter is who may change a field with gl state set.
type Setter int

const (
	// gl's own commands change it; gl state set treats it like an unknown key
	ByGL     Setter = iota
	ByPerson        // people
	ByAgent         // people, and the slice's own agent: its progress and what it found out
)

// A Field is a key of a slice file's front matter. The table below has all that gl knows: a new
// field is a row there, and a field of plan.Item. Reading a file, the index, GRAPH.json, rows of a
// legacy STATE.md with their side file, and gl state set follow from it.
type Field struct {
	Key string
	By  Setter

	// check returns a value as gl state set writes it, or why it isn't one. An empty value clears
	// the field. If check is nil, any text will do.
	check func(key, value string) (string, error)

	word  bool // its values are single words, numbers, times or ids: see frontmatter.Rules
	graph bool // a slice whose file has no value takes that of its entry in GRAPH.json
	row   int  // its place in RowKeys; 0 if a row of STATE.md has no such field
	cell  bool // a row has it in the table or doesn't need it; the side file keeps the others
	value value
}

// fields are the known fields, in the order in which completion offers them. Those without a value
// aren't part of an item as the file has them: dependencies and names have several sources, and
// the others are read from the file where they are needed.
var fields = [...]Field{
	{Key: "status", By: ByAgent, check: checkStatus, word: true, row: 3, cell: true,
		value: textValue{at: func(it *plan.Item) *string { return &it.Status }}},
	{Key: "step", By: ByAgent, word: true, row: 4,
		value: textValue{at: func(it *plan.Item) *string { return &it.Step }}},
	{Key: "tests", By: ByAgent, check: checkCount, word: true, row: 6, cell: true,
		value: numberValue{at: func(it *plan.Item) *int { return &it.Tests }, parse: count}},
	{Key: "security_tests", By: ByAgent, check: checkCount, word: true, row: 7, cell: true,
		value: numberValue{at: func(it *plan.Item) *int { return &it.SecurityTests },
			parse: count}},
	{Key: "failing", By: ByAgent, check: checkCount, word: true, row: 12, value: failingValue{}},
	// older files; see failingValue
	{Key: "tests_failing", By: ByAgent, check: checkCount, word: true},
	{Key: "deps", By: ByPerson, word: true, row: 13, cell: true},
	{Key: "milestone", By: ByPerson, graph: true,
		value: textValue{at: func(it *plan.Item) *string { return &it.Milestone }}},
	{Key: "name", By: ByPerson, row: 2, cell: true},
	{Key: "session", By: ByPerson, word: true, row: 8,
		value: textValue{at: func(it *plan.Item) *string { return &it.Session }}},
	{Key: "started", By: ByPerson, word: true, row: 5,
		value: textValue{at: func(it *plan.Item) *string { return &it.Started }}},
	{Key: "updated", By: ByPerson, word: true,
		value: textValue{at: func(it *plan.Item) *string { return &it.Updated }}},
	{Key: "waiting_for", By: ByAgent, row: 9,
		value: textValue{at: func(it *plan.Item) *string { return &it.WaitingFor },
			parse: noneAsEmpty}},
	{Key: "waiting_kind", By: ByAgent, check: checkWaitKind, row: 10,
		value: textValue{at: func(it *plan.Item) *string { return (*string)(&it.WaitKind) },
			parse: strings.ToLower}},
	{Key: "review", By: ByPerson, check: checkReview},
	{Key: "agent", By: ByPerson, check: checkModel,
		value: textValue{at: func(it *plan.Item) *string { return &it.Agent }, parse: noneAsEmpty}},
	{Key: "model", By: ByPerson, check: checkModel,
		value: textValue{at: func(it *plan.Item) *string { return &it.Model }, parse: noneAsEmpty}},
	{Key: "labels", By: ByPerson, check: checkLabels,
		value: listValue{at: func(it *plan.Item) *[]string { return &it.Labels }}},
	{Key: "wave", By: ByPerson, word: true, graph: true,
		value: numberValue{at: func(it *plan.Item) *int { return &it.Wave }, parse: rank,
			none: plan.None}},
	{Key: "priority", By: ByPerson, word: true, graph: true,
		value: numberValue{at: func(it *plan.Item) *int { return &it.Priority }, parse: rank,
			none: plan.None}},
	{Key: "contracts", By: ByAgent},
	{Key: "wraps", By: ByPerson,
		value: listValue{at: func(it *plan.Item) *[]string { return &it.Wraps }, parse: expandAll}},
	{Key: "files", By: ByAgent, graph: true,
		value: listValue{at: func(it *plan.Item) *[]string { return &it.Files }}},
	{Key: "id", By: ByPerson, word: true, row: 1, cell: true},
	{Key: "verified", word: true, row: 11,
		value: textValue{at: func(it *plan.Item) *string { return (*string)(&it.Verified) },
			parse: verified}},
	{Key: "new_tests", word: true, value: gainValue{}},
	{Key: renamedFrom, value: listValue{at: func(it *plan.Item) *[]string { return &it.Was }}},
	{Key: "branch"},
}

// fieldOf finds a field by its key.
var fieldOf = sync.OnceValue(func() map[string]*Field {
	all := make(map[string]*Field, len(fields))
	for i := range fields {
		all[fields[i].Key] = &fields[i]
	}
	return all
})

// token reports whether a key's values are single words, numbers, times or ids.
func token(key string) bool {
	f := fieldOf()[key]
	return f != nil && f.word
}

// Keys returns the keys that a Setter may change with gl state set, in the order in which
// completion offers them. They include the id, which Check refuses.
func Keys(by Setter) []string {
	var keys []string
	for _, f := range fields {
		if f.By >= by {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// RowKeys returns the keys of the slice file that File makes of a row, in order.
func RowKeys() []string { return keysOfRows(func(*Field) bool { return true }) }

// SideKeys returns the keys of a row's fields for which STATE.md has no column: the side file of a
// legacy project keeps them.
func SideKeys() []string { return keysOfRows((*Field).side) }

func (f *Field) side() bool { return f.row > 0 && !f.cell }

func keysOfRows(which func(*Field) bool) []string {
	var rows []*Field
	for i := range fields {
		if f := &fields[i]; f.row > 0 && which(f) {
			rows = append(rows, f)
		}
	}
	slices.SortFunc(rows, func(a, b *Field) int { return a.row - b.row })
	keys := make([]string, len(rows))
	for i, f := range rows {
		keys[i] = f.Key
	}
	return keys
}

// Check returns a field's new value as gl state set writes it, or why it isn't a value. Unknown
// keys can have any value.
func Check(key, value string) (string, error) {
	if f := fieldOf()[key]; f != nil && f.check != nil {
		return f.check(key, value)
	}
	return value, nil
}

// Statuses returns those that help and completion name; plan.Classify accepts other spellings,
// too.
func Statuses() []string {
	return []string{"pending", "ready", "in_progress", "tests", "implementing",
		"security", "fixing", "verifying", "complete", "failed", "paused"}
}

func checkStatus(_, value string) (string, error) {
	if plan.Classify(value) != plan.Unknown {
		return value, nil
	}
	hint := ""
	if meant := suggest.Match(value, Statuses()); meant != "" {
		hint = ", did you mean " + meant + "?"
	}
	return "", fmt.Errorf("unknown status %q%s (known: %s)", value, hint,
		strings.Join(Statuses(), ", "))
}

func checkCount(key, value string) (string, error) {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return "", fmt.Errorf("%s must be a whole number, 0 or more, not %q", key, value)
	}
	return strconv.FormatUint(n, 10), nil
}

func checkWaitKind(key, value string) (string, error) {
	if value != "" && !slices.Contains(plan.WaitKinds(), value) {
		return "", fmt.Errorf("%s must be %s, or empty, not %q", key,
			strings.Join(plan.WaitKinds(), " or "), value)
	}
	return value, nil
}

// The values of the field review, and of the setting of that name.
const (
	ReviewAlways = "always" // a person approves it
	ReviewVerify = "verify" // a person does if it has a contract other than auto
	ReviewNever  = "never"
)

// Reviews returns the values of review.
func Reviews() []string { return []string{ReviewAlways, ReviewVerify, ReviewNever} }

func checkReview(key, value string) (string, error) {
	if value != "" && !slices.Contains(Reviews(), value) {
		return "", fmt.Errorf("%s must be one of %s, or empty, not %q", key,
			strings.Join(Reviews(), ", "), value)
	}
	return value, nil
}

func checkLabels(key, value string) (string, error) {
	for label := range strings.FieldsFuncSeq(value,
		func(r rune) bool { return r == ',' || r == ' ' }) {
		if err := remote.CheckLabel(label); err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
	}
	return value, nil
}

func checkModel(key, value string) (string, error) {
	if value != "" && !agent.IsModel(value) {
		return "", fmt.Errorf("%s must be a name of letters, digits and -_.:/@[], or empty, not %q",
			key, value)
	}
	return value, nil
}
