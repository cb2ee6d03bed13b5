package wrapper

import (
	"strings"
	"testing"

	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/worktree"
)

func TestHandoff(t *testing.T) {
	const own = "refs/heads/gl/s/_/greenlight/S-1/1"
	on := worktree.Condition{Branch: own}
	goes := &attempt.Continuation{After: 2, Why: "Attempt 2 ended: crashed.", Output: "FAIL a"}
	for _, tt := range []struct {
		name string
		h    handoff
		want string
	}{
		{"the first attempt", handoff{is: on, changed: []string{"?? made-by-setup"}}, ""},
		{"goes on", handoff{Continuation: goes, is: on, changed: []string{" M a.go", "?? b\x1b[31m\n"}, said: "I ran\nout"},
			"This attempt goes on with earlier work in the same worktree. Attempt 2 ended: crashed.\n    FAIL a\n" +
				"Not committed (git status --short):\n     M a.go\n    ?? b\\x1b[31m?\nThe last lines of attempt 2, whose agent you may not be:\n    I ran\n    out"},
		{"resumes", handoff{Continuation: goes, resumes: true, is: on, said: "I ran"},
			"This attempt goes on with earlier work in the same worktree. Attempt 2 ended: crashed."},
		{"many paths", handoff{Continuation: &attempt.Continuation{Why: "Why."}, is: on, changed: strings.Split(strings.Repeat("?? x,", 12)+"?? x", ",")},
			"This attempt goes on with earlier work in the same worktree. Why.\nNot committed (git status --short):\n" +
				strings.Repeat("    ?? x\n", 10) + "    and 3 paths more"},
		{"a merge", handoff{is: worktree.Condition{Branch: own, Operation: "merge"}},
			"A merge isn't finished in the worktree: git status says more. Finish it or abort it before anything else."},
		{"a rebase, which detaches HEAD", handoff{is: worktree.Condition{Operation: "rebase"}},
			"A rebase isn't finished in the worktree: git status says more. Finish it or abort it before anything else."},
		{"detached", handoff{}, "The worktree's HEAD is detached. Your work belongs on the branch gl/s/_/greenlight/S-1/1."},
		{"another branch", handoff{is: worktree.Condition{Branch: "refs/heads/x"}},
			"The worktree is on the branch x. Your work belongs on gl/s/_/greenlight/S-1/1."},
	} {
		tt.h.branch = own
		if got := tt.h.text(); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
