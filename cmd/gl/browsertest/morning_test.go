//go:build browser

package browsertest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// night leaves something of each kind: see its comments. Where there is a file mend, all goes well.
const night = `
case $id in
S-1) # asks
	if [ ! -f asked ]; then
		echo x > asked
		gl state set $id status=implementing step=implementing waiting_for='which currency: euro or dollar?'
		exit
	fi ;;
S-2) # awaits review
	if [ $n = 1 ]; then
		printf 'Dear <b>customer</b>\nyour order\n' > mail
		git add -A
		git commit -qm mail
		gl state set $id status=verifying step=verifying waiting_for='look at the mail'
		echo 'Please look at it.'
		exit
	fi ;;
S-3) # red, and red again
	if [ -f $WORK/mend ]; then touch mended; else echo $n > red; fi ;;
S-4) # changes nothing
	if [ ! -f $WORK/mend ]; then gl state set $id status=complete step=complete; exit; fi ;;
S-5) # stalls
	if [ ! -f half ] && [ ! -f $WORK/mend ]; then echo half > half; gl state set $id status=tests step=tests; exit; fi ;;
S-6) # isn't merged while the checkout has changes in the same file
	echo GREEN > shared ;;
S-7) # fails
	if [ ! -f $WORK/mend ]; then echo 'no compiler' >&2; exit 7; fi ;;
S-8) # in conflict with S-9, and not resolved
	if [ $n = 1 ]; then
		until grep -q 'verified: true' $GREENLIGHT_ROOT/.greenlight/slices/S-9.md; do sleep 0.05; done
	elif [ ! -f $WORK/mend ]; then
		gl state set $id status=complete step=complete
		exit
	fi
	echo $id > line ;;
S-9)
	until [ -e $WORK/S-8.begun ]; do sleep 0.05; done
	echo $id > line ;;
esac
` + built

// newMorning is a project after such a night. S-10 was set aside.
func newMorning(t *testing.T) *world {
	w := newWorld(t, "touch $WORK/$id.begun\n"+night, "S-1", "S-2", "S-3", "S-4", "S-5", "S-6", "S-7",
		"S-8", "S-9", "S-10")
	w.gl("pause", "S-10")
	w.must("git", "add", "-A") // its hand-off
	w.must("git", "commit", "-q", "-m", "S-10 is set aside")
	testfiles.Put(t, w.root, "shared", "mine\n")
	out, code := w.call("gl", "slice", "--watch", "--runner", "process", "--max", "3")
	t.Logf("the night: exit %d\n%s", code, out)
	w.gl("hold", "2h")
	return w
}

// A whole morning by clicks: what waits is found from "needs you", and decided there.
func TestMorning(t *testing.T) {
	w := newMorning(t)
	w.serve()
	p := newPage(t).login(w.link())
	to := func(kind, text, then string) {
		t.Helper()
		p.click("nav a", "Needs you")
		p.click("main "+kind, text)
		p.see(then)
	}
	p.see("Needs you 10")

	to("a", "S-1 (Name of S-1) asks: which currency", "Your answer")
	p.write("Your answer", "euro")
	p.click("button", "Answer")
	p.see("S-1 is answered")
	w.is("S-1", "available")
	if !strings.Contains(w.file("S-1"), "Asked: which currency: euro or dollar? Answer: euro") {
		t.Error(w.file("S-1"))
	}

	to("a", "S-2 (Name of S-2) awaits review: look at the mail", "Please look at it.")
	p.see("+Dear <b>customer</b>")
	p.write("What is wrong?", "no markup, please")
	p.click(".diff a.n", "2")
	p.type_("say which order")
	p.click("button", "Send back")
	p.see("S-2 is sent back to its agent with 1 comment")
	w.is("S-2", "available")
	for _, words := range []string{"Rejected: no markup, please", "Rejected: mail:2: say which order"} {
		if !strings.Contains(w.file("S-2"), words) {
			t.Error(w.file("S-2"))
		}
	}

	to("a", "S-4 (Name of S-4) is empty", "Accept")
	p.click("button", "Accept")
	p.see("S-4 is ")
	w.is("S-4", "done")

	testfiles.Put(t, w.dir, "mend", "")
	for id, text := range map[string]string{"S-3": "is red", "S-7": "failed: exit 7", "S-8": "is in conflict"} {
		to("a", id+" (Name of "+id+") "+text, "What should its agent know?")
		if id == "S-3" {
			p.see("test result: FAILED. 1 passed; 1 failed")
		}
		p.write("What should its agent know?", "mended for "+id)
		p.click("button", "Retry")
		p.see(id + " is pending again")
		w.is(id, "available")
	}
	to("a", "S-5 (Name of S-5) is stalled", "Start over")
	p.click("button", "Start over")
	p.see("S-5 is pending again")
	w.is("S-5", "available")

	to("a", "S-10 (Name of S-10) is paused", "Resume")
	p.click("button", "Resume")
	p.see("S-10 is pending again")
	w.is("S-10", "available")

	w.must("git", "checkout", "-q", "shared")
	p.click("nav a", "Board")
	p.click("main a", "S-9 Name of S-9") // a slice that is done says so, too
	p.see("S-6, S-9: tested, not merged yet")
	to("button", "Merge now", "Merging what is tested")
	p.gone("Merge now")
	if text := testfiles.Get(t, w.root, "shared"); text != "GREEN\n" {
		t.Errorf("shared: %q", text)
	}

	p.see("Nothing is launched until")
	to("button", "Lift the hold", "Lifted")
	p.see("Nothing waits for you.")
	p.fine()

	// Everything that was decided goes on.
	p.click("nav a", "Board")
	w.gl("slice", "--watch", "--runner", "process")
	p.see("10/10 done")
	for id, class := range w.classes() {
		if class != "done" {
			t.Errorf("%s is %s", id, class)
		}
	}
	out, err := exec.Command("grep", "-rlF", "mended for S-7", filepath.Join(w.root, ".greenlight")).Output()
	if err != nil || len(out) == 0 {
		t.Errorf("nothing has the words for S-7: %v", err)
	}
	p.fine()
}
