//go:build browser

package browsertest

import (
	"testing"

	"greenlight/internal/base/testfiles"
)

// What a person needs to decide about is on the page: acceptance criteria, tests that were removed,
// and how the tests were changed after they were handed over.
func TestEvidence(t *testing.T) {
	w := newWorld(t, `
case $id in
S-1) printf 'package a\n\nfunc TestA(t *testing.T) {\n\ta()\n}\n' >a_test.go ;;
S-2)
	if [ ! -f b_test.go ]; then
		gl state set $id status=tests step=tests
		printf 'package a\n\nfunc TestWrong(t *testing.T) {}\n' >b_test.go
		gl state set $id status=implementing step=implementing
	fi
	printf 'package a\n\nfunc TestRight(t *testing.T) {}\n' >b_test.go ;;
esac
`+built, "S-1", "S-2", "S-3")
	testfiles.Put(t, w.root, "a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\ta()\n}\n\nfunc TestB(t *testing.T) {\n\tb()\n}\n")
	testfiles.Put(t, w.root, ".greenlight/CONTRACTS.md",
		"# Contracts\n\n### C-1: the mail\n\n- Verification: verify\n- Acceptance criteria: the mail names the order; <i>no</i> markup\n")
	w.gl("state", "set", "S-3", "contracts=C-1")
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "tests and contracts")
	w.call("gl", "slice", "--watch", "--runner", "process")
	w.serve()
	p := newPage(t).login(w.link())

	p.click("main a", "S-1 (Name of S-1) awaits review")
	p.see("tests removed: TestB in a_test.go")
	p.see("-func TestB(t *testing.T) {")
	p.click("button", "Accept")
	p.see("S-1 is accepted, and is merged once its tests pass")
	w.is("S-1", "done")

	p.click("main a", "S-2 (Name of S-2) is red: changed after the tests were handed over: b_test.go")
	p.see("How it changed its tests")
	p.see("-func TestWrong(t *testing.T) {}")
	p.click("button", "Accept its changed tests")
	p.see("S-2 is accepted")
	w.is("S-2", "done")

	p.click("main a", "S-3 (Name of S-3) awaits review")
	p.see("Its contracts ask you to look at")
	p.see("the mail names the order <i>no</i> markup")
	p.click("button", "Accept")
	p.see("S-3 is accepted")
	w.is("S-3", "done")
	p.gone("S-3 (Name of S-3)")
	p.see("Nothing waits for you.")
	p.fine()
}
