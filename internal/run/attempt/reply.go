package attempt

import (
	"fmt"
	"strings"

	"greenlight/internal/run/testrun"
)

// A person's verdict on an attempt that ended, which the lineage's next attempt gets.

// An Answer is a person's to the question with which an attempt ended.
type Answer struct {
	Question string `json:"question"`
	Text     string `json:"text"`
}

// A Comment is a person's on a line of the work that was sent back.
type Comment struct {
	File string `json:"file"` // relative to the repository's top
	Line int    `json:"line"` // 1 for the first
	Has  string `json:"has"`  // the line as the person has seen it
	Text string `json:"text"`
}

// An Undo says that what landed was taken back.
type Undo struct {
	Commit string `json:"commit"` // of the lane: what reverts Landing.Commit
	Why    string `json:"why,omitempty"`
	// a person wants the next attempt to begin without the work that was taken back
	Anew bool `json:"anew,omitempty"`
}

// Quoted is the comment with its line, in three lines.
func (c Comment) Quoted() string {
	return fmt.Sprintf("%s:%d\n> %s\n%s", c.File, c.Line, c.Has, c.Text)
}

// reviewing begins what gl says that a slice waits for: it is at its review, whatever is to be
// decided there.
const reviewing = "review: "

// ReviewText is what a slice waits for that is to be approved, and why.
func ReviewText(v *testrun.Verdict, why string) string {
	how := "its tests pass"
	switch {
	case v == nil:
		how = "not tested"
	case !v.Green():
		how = "its tests fail, as they do without it"
	case v.Passed != nil && *v.Passed == 1:
		how = v.Count() + " passes"
	case v.Passed != nil:
		how = v.Count() + " pass"
	}
	return reviewing + how + "; " + why
}

// reply returns a person's answer for the next attempt: a sentence, and the comments on lines.
func (a *Aftermath) reply() (why, output string) {
	if a := a.Answered; a != nil {
		return fmt.Sprintf("You asked: %s A person has answered: %s Go on with that.", sentenceEnd(a.Question), sentenceEnd(a.Text)), ""
	}
	quoted := make([]string, len(a.Comments))
	for i, c := range a.Comments {
		quoted[i] = c.Quoted()
	}
	why = "A person has looked at your work and sent it back"
	if a.Rejected != "" {
		why += ": " + strings.TrimRight(a.Rejected, ".")
	}
	if len(quoted) > 0 {
		return why + ". Put right what the comments on lines say.", strings.Join(quoted, "\n\n")
	}
	return why + ". Put that right.", ""
}

// undone is what the agent is told that builds the slice again after its work, the commit
// landed, was taken back. redone is the commit that has the work once more, "" where it didn't
// fit.
func (a *Aftermath) undone(redone, landed string) string {
	why := "This slice was built and merged, and a person took it back"
	if a.Undone.Why != "" {
		why += ": " + strings.TrimRight(a.Undone.Why, ".")
	}
	if a.Undone.Anew {
		return why + ". Begin anew, without its changes: they are in the commit " + landed + ", for you to look at."
	}
	if redone != "" {
		return why + ". Its changes are on your branch again, in its first commit. Put right what was wrong with them."
	}
	return why + ". Its changes conflict with what was merged since: they are in the commit " + landed + ", for you to look at."
}

// sentenceEnd is a text that ends like a sentence.
func sentenceEnd(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}
