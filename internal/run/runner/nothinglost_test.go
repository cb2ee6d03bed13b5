package runner_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// scribe is an agent that does to its worktree what agents do. Everything that it writes is
// different from all else, and once a file is closed, its content is in the ledger. It destroys
// nothing itself: what is staged is committed before it is staged anew.
const scribe = `#!/bin/sh
exec 9>>"$OUT/$GL_SLICE.busy"
flock -n 9 || echo "$GL_SLICE: $GL_SESSION" >>"$OUT/twice"
echo '{"type":"system","subtype":"init"}'
chance=$$
roll() { chance=$(( (chance * 1103515245 + 12345) % 2147483648 )); rolled=$(( chance / 65536 % $1 )); }
n=0
put() {
	n=$((n + 1))
	mkdir -p "$(dirname "$1")"
	echo "$GL_SLICE $GL_ATTEMPT $$ $n" >"$1" && printf '%s\t%s\t%s\n' "$GL_SLICE $GL_ATTEMPT $$ $n" "$1" "$rolled" >>"$OUT/ledger"
}
kept() { put "$1" && git add "$1" && git commit -qm "$1"; }
for i in 1 2 3 4 5 6 7; do
	f=$GL_SLICE-$GL_ATTEMPT-$$-$i
	roll 12
	case $rolled in
	0) put "$f" ;;
	1) put "deep/$f/below/it" ;;
	2) put "$f" && git add "$f" ;;
	3) put "$f" && git add "$f" && put "$f" ;;
	4) kept "$f" ;;
	5) kept "$f" && put "$f" && git add "$f" && git commit -q --amend -m "$f again" ;;
	6) put "$f" && git add "$f" && put "$f.new" && git stash push -q --include-untracked ;;
	7) git checkout -q -b "other-$f" && kept "$f" ;;
	8) git checkout -q --detach && kept "$f" ;;
	9) kept "$f" && git reset -q --keep HEAD~1 ;;
	10) git init -q "nested/$f" && put "nested/$f/file" ;;
	11) put "$f" && git add "$f" && git commit -qm "$f" && put "$f" && echo "$f" >"$f.ignored" ;;
	esac 9>&-
	sleep 0.0$((rolled % 9 + 1)) 9>&-
done
put "$GL_SLICE-$GL_ATTEMPT-$$-last" 9>&- # of all else, nothing may be left in the worktree
for i in 1 2 3 4 5 6 7 8 9 10; do
	if gl state set "$GL_SLICE" status=complete step=complete tests=1 9>&-; then
		echo '{"type":"result","subtype":"success","num_turns":3}'
		break
	fi
	sleep 0.2 9>&-
done
`

// hoarded is how many slices a round has.
func hoarded() int {
	if os.Getenv("GREENLIGHT_KILLS") != "" {
		return 6
	}
	return 4
}

// Whatever is killed, and when: what an agent has written and closed is somewhere that git or gl
// keeps, and the person's checkout is as it was. GREENLIGHT_KILLS=50 is a long one; GREENLIGHT_SEED
// repeats the order of the kills, if not their instants.
func TestNothingIsLost(t *testing.T) {
	testfiles.Slow(t)
	killRounds(t, 3, func(random *rand.Rand, counts map[string]int, kills int) int {
		return hoardRound(t, random, counts, kills, counts["rounds"])
	})
}

// killRounds has rounds done until there were that many kills, or as many as GREENLIGHT_KILLS says:
// then nothing runs beside them.
func killRounds(t *testing.T, kills int, round func(random *rand.Rand, counts map[string]int, kills int) (killed int)) {
	for _, program := range []string{"flock", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	if text := os.Getenv("GREENLIGHT_KILLS"); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		check(t, err)
	} else {
		t.Parallel()
	}
	seed, random := seeded()
	counts := map[string]int{}
	t.Cleanup(func() { t.Logf("seed %d: %v", seed, counts) })
	for kills > 0 && !t.Failed() {
		kills -= round(random, counts, min(kills, 10))
		counts["rounds"]++
	}
}

// newHoard is a site of that many slices that is a real repository, in which a person has begun
// something.
func newHoard(t *testing.T, n int) *site {
	s := newTmuxSite(t, n)
	s.hoard(scribe, "sleep 0.2; echo ready >setup.ignored", undelivered)
	return s
}

// undelivered leaves what lands on the lane, and the person's checkout as it is.
const undelivered = `, "deliver": "branch", "commit_state": false}`

// hoard makes the site's project such a repository. more is the rest of its configuration, from the
// section git on.
func (s *site) hoard(script, setupScript, more string) {
	t := s.t
	out := filepath.Join(s.dir, "out")
	check(t, os.Mkdir(out, 0o755))
	agent, setup := filepath.Join(s.dir, "bin", "scribe"), filepath.Join(s.dir, "bin", "setup")
	check(t, os.WriteFile(agent, []byte(script), 0o755))
	check(t, os.WriteFile(setup, []byte("#!/bin/sh\n"+setupScript+"\n"), 0o755))
	check(t, os.WriteFile(filepath.Join(s.Root, ".greenlight", "config.json"), fmt.Appendf(nil,
		`{"parallel": {"agents": {"scribe": {"command": [%q]}}}, "git": {"setup": [%q], "snapshot_minutes": 0.005%s}`, agent, setup, more), 0o644))
	s.env = append(s.env, "OUT="+out)
	s.git("init", "-q", "-b", "work")
	s.git("config", "user.name", "t")
	s.git("config", "user.email", "t@localhost")
	s.put(".gitignore", "*.ignored\n")
	for i := range 200 {
		s.put(fmt.Sprintf("d%d/f%d", i%20, i), fmt.Sprint(i))
	}
	s.git("add", ".")
	s.git("commit", "-qm", "first")
	s.put("staged", "staged")
	s.put("d1/f1", "staged")
	s.git("add", "staged", "d1/f1")
	s.put("d1/f1", "edited")
	s.put("untracked", "untracked")
	s.gl("trust", "--yes").finish(t, 0)
}

func hoardRound(t *testing.T, random *rand.Rand, counts map[string]int, kills, round int) (killed int) {
	s := newHoard(t, hoarded())
	before := s.checkout()
	args := []string{"slice", "--watch", "--max", "3", "--agent", "scribe", "--isolation", "worktree", "--force", "--runner", []string{"tmux", "process"}[round%2]}
	g := s.gl(args...)
	for killed < kills && !t.Failed() {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond) // at any instant
		if g.over() {
			if g.ProcessState.ExitCode() == 0 {
				break
			}
			<-s.gl("retry", "--all-failed").done
			s.release(counts)
			g = s.gl(args...)
		}
		if what := s.killOne(random, g); what != "" {
			counts[what]++
			killed++
			s.findAll(what, s.anywhere)
		}
	}
	s.calm(t, args, g, counts)
	counts["written"] += len(s.ledger())
	counts["attempts"] += len(s.records())
	s.findAll("at the end", s.underRefs)
	if diff := differs(before, s.checkout()); len(diff) > 0 {
		t.Errorf("the person's checkout has changed: %q", diff)
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "out", "twice")); err == nil {
		t.Errorf("two agents at one slice:\n%s", text)
	}
	for _, r := range s.records() {
		if r.Place.Unsaved != "" {
			counts["unsaved"]++
			t.Errorf("%s: unsaved: %s", r.ID.Name(), r.Place.Unsaved)
		}
	}
	if t.Failed() {
		t.Logf("%s", g.out.String())
	}
	return max(killed, 1)
}

// diskFiller takes all the space that is left, once.
const diskFiller = `
if mkdir "$OUT/filled" 2>/dev/null; then
	dd if=/dev/zero of=ballast.ignored bs=4096 2>/dev/null
	exit 1
fi`

// A disk that fills up while a worktree is made, set up or saved costs an attempt and says so, and
// costs no work.
func TestWorktreeDiskFull(t *testing.T) {
	testfiles.Slow(t)
	before, _, _ := strings.Cut(scribe, "for i in 1 2 3 4 5 6 7 8 9 10")
	after := strings.TrimPrefix(scribe, before)
	for _, c := range []struct {
		name, agent, setup string
		free               int // KiB; 0 for all there is
		reason             string
	}{
		{name: "add", agent: scribe, setup: "true", free: 256, reason: "unable to write file"},
		{name: "setup", agent: scribe, setup: diskFiller, reason: "git.setup failed"},
		{name: "snapshot", agent: before + diskFiller + "\n" + after, setup: "true", reason: "no space"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "disk/shop")
			disk := filepath.Dir(s.Root)
			if !s.smallDisk(disk, "12m") {
				t.Skip("needs the right to mount")
			}
			s.slice("S-1", "")
			s.hoard(c.agent, c.setup, undelivered)
			person := s.checkout()
			ballast := filepath.Join(disk, "ballast")
			if c.free > 0 {
				fill(ballast)
				info, err := os.Stat(ballast)
				check(t, err)
				check(t, os.Truncate(ballast, max(0, info.Size()-int64(c.free)<<10)))
			}
			args := []string{"slice", "--watch", "--max", "1", "--agent", "scribe", "--isolation", "worktree", "--force", "--runner", "process"}
			g := s.gl(args...)
			// Where not even the record can be written, the wrapper waits for space.
			until(t, "gl ends, or its wrapper waits for space", func() bool {
				return g.over() || strings.Contains(s.read(".greenlight", "runs", "log", "S-1.1.log"), "can't write its state")
			})
			if c.setup == diskFiller { // to the last byte
				until(t, "gl says that the disk is full", func() bool { return strings.Contains(g.out.String(), "the disk is full") })
			}
			s.findAll("full", s.anywhere)
			balls, _ := filepath.Glob(filepath.Join(s.Root+".gl", "*", "*", "*", "ballast.ignored"))
			for _, path := range append(balls, ballast) {
				os.Remove(path)
			}
			<-g.done
			recs := s.records()
			if len(recs) != 1 {
				t.Fatalf("%d attempts:\n%s", len(recs), g.out.String())
			}
			if said := recs[0].Judged.Detail + recs[0].Place.Unsaved; recs[0].Judged.Outcome == outcome.Done || !strings.Contains(said, c.reason) {
				t.Errorf("%s, without %q: %s", recs[0].Judged.Outcome, c.reason, said)
			}
			if c.name == "snapshot" && recs[0].Place.Unsaved == "" {
				t.Error("the record doesn't say that work is unsaved")
			}
			<-s.gl("retry", "--all-failed").done
			s.gl(args...).finish(t, 0)
			s.findAll("with space", s.underRefs)
			if diff := differs(person, s.checkout()); len(diff) > 0 {
				t.Errorf("the person's checkout has changed: %q", diff)
			}
			if len(s.ledger()) == 0 {
				t.Error("no agent has written anything")
			}
		})
	}
}

// killOne kills one thing, and says which; "" if it isn't there just now.
func (s *site) killOne(random *rand.Rand, g *glProcess) string {
	wrapperIn := func(what string, is func(*attempt.Record) bool) string {
		for range 50 {
			if r := s.pickOf(random, is); r != nil && r.Life.Wrapper != nil {
				time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
				if random.IntN(2) == 0 && killChild(r.Life.Wrapper.PID) {
					return "kill child " + what
				}
				r.Life.Wrapper.Signal(syscall.SIGKILL)
				return "kill wrapper " + what
			}
			time.Sleep(5 * time.Millisecond)
		}
		return ""
	}
	switch random.IntN(7) {
	case 0:
		if !g.over() {
			g.kill()
			return "kill gl"
		}
	case 1:
		s.tmux("kill-server")
		return "kill tmux"
	case 2, 3:
		return wrapperIn("preparing", func(r *attempt.Record) bool { return r.Life.Phase == plan.Preparing })
	case 4:
		return wrapperIn("saving", func(r *attempt.Record) bool {
			return r.Life.Phase == plan.Started && r.Life.Process != nil && !r.Life.Process.Alive()
		})
	default:
		if r := s.pick(random); r != nil && r.Life.Process != nil {
			if random.IntN(2) == 0 {
				r.Life.Process.Signal(syscall.SIGKILL)
				return "kill agent"
			}
			r.Life.Wrapper.Signal(syscall.SIGKILL)
			return "kill wrapper working"
		}
	}
	return ""
}

// killChild kills a child of the process, such as its git; false if there is none.
func killChild(parent int) bool {
	out, _ := exec.Command("ps", "axww", "-o", "pid=,ppid=").Output()
	for line := range strings.Lines(string(out)) {
		var pid, ppid int
		if fmt.Sscan(line, &pid, &ppid); ppid == parent {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// git runs git in the person's checkout.
func (s *site) git(args ...string) string {
	s.t.Helper()
	out, err := s.tryGit(nil, args...)
	if err != nil {
		s.t.Fatalf("git %q: %v", args, err)
	}
	return out
}

func (s *site) tryGit(stdin []byte, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.Root, append(slices.Clone(s.env), "GIT_OPTIONAL_LOCKS=0"), bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

func (s *site) put(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.Root, path)
	check(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(s.t, os.WriteFile(path, []byte(text), 0o644))
}

// ledger is what agents have written, by git's name for the content.
func (s *site) ledger() map[string]string {
	data, err := os.ReadFile(filepath.Join(s.dir, "out", "ledger"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if text, _, whole := strings.Cut(line, "\t"); whole && strings.HasSuffix(line, "\n") {
			all[blob([]byte(text+"\n"))] = strings.TrimSpace(line)
		}
	}
	return all
}

func blob(data []byte) string {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data))
	return hex.EncodeToString(sum[:])
}

// findAll checks that what the ledger has is among what a look finds. While agents work, content
// moves from one place to the other, perhaps past the look: what is lost is missing from each of
// several.
func (s *site) findAll(when string, look func(missing map[string]string) error) {
	s.t.Helper()
	missing := s.ledger()
	var looks []error
	for range 4 {
		looks = append(looks, look(missing))
		if len(missing) == 0 {
			return
		}
	}
	seen := map[string]bool{}
	for _, hash := range slices.Sorted(maps.Keys(missing)) {
		line := missing[hash]
		s.t.Errorf("%s: lost: %s: %s", when, hash, line)
		if id, _, _ := strings.Cut(line, " "); !seen[id] {
			seen[id] = true
			s.t.Logf("what gl knows of %s:\n%s", id, s.evidence(id))
		}
	}
	s.t.Logf("looked four times; errors: %v\neverything as it was then is in %s", errors.Join(looks...), s.keepEvidence())
}

// keepEvidence copies the site to where nothing removes it.
func (s *site) keepEvidence() string {
	dir, err := os.MkdirTemp("", "gl-lost-")
	check(s.t, err)
	if out, err := exec.Command("cp", "-a", s.dir, dir).CombinedOutput(); err != nil { // beside agents, files come and go
		s.t.Logf("%v: %s", err, out)
	}
	return dir
}

// evidence is what gl knows of a slice: its lineage, its refs, and the records and logs of its
// attempts.
func (s *site) evidence(id string) string {
	var b strings.Builder
	for _, pattern := range []string{"lineage/*." + id + ".json", "live/" + id + ".*", "done/" + id + ".*", "log/" + id + ".*.log"} {
		files, _ := filepath.Glob(filepath.Join(s.Runs.Files.Dir(), pattern))
		for _, file := range files {
			data, err := os.ReadFile(file)
			fmt.Fprintf(&b, "%s: %s %v\n", filepath.Base(file), bytes.TrimSpace(data), err)
		}
	}
	refs, err := s.tryGit(nil, "for-each-ref", "--format=%(objectname) %(refname)", "refs/gl", "refs/heads")
	fmt.Fprintf(&b, "refs: %v\n%s", err, of(refs, "/"+id+"/"))
	return b.String()
}

// anywhere takes off what is in a worktree on disk, or in git by any index, reflog or ref: in this
// order, since an agent's work goes this way. rev-list --all --reflog --indexed-objects would do
// less: it prints nothing beside the half of a worktree that a killed git worktree add has left,
// until the slice's next attempt makes it whole.
func (s *site) anywhere(missing map[string]string) error {
	filepath.WalkDir(s.Root+".gl", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if data, err := os.ReadFile(path); err == nil {
				delete(missing, blob(data))
			}
		}
		return nil
	})
	var errs []error
	common := filepath.Join(s.Root, ".git")
	indexes, _ := filepath.Glob(filepath.Join(common, "worktrees", "*", "index"))
	for _, index := range indexes {
		cmd := exec.Command("git", "ls-files", "-s")
		cmd.Dir, cmd.Env = s.Root, append(slices.Clone(s.env), "GIT_INDEX_FILE="+index)
		out, err := cmd.Output()
		errs = append(errs, err)
		for line := range strings.Lines(string(out)) { // MODE HASH STAGE\tPATH
			delete(missing, strings.Fields(line)[1])
		}
	}
	var tips bytes.Buffer
	filepath.WalkDir(common, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(path, "/logs/") {
			data, _ := os.ReadFile(path)
			for line := range strings.Lines(string(data)) { // OLD NEW …
				for _, id := range strings.Fields(line)[:min(2, len(strings.Fields(line)))] {
					if len(id) == 40 && strings.Trim(id, "0") != "" {
						tips.WriteString(id + "\n")
					}
				}
			}
		}
		return nil
	})
	out, err := s.tryGit(tips.Bytes(), "rev-list", "--objects", "--ignore-missing", "--stdin", "--glob=refs/*")
	takeOff(missing, out)
	return errors.Join(append(errs, err)...)
}

// underRefs takes off what is in a branch or under a WIP ref.
func (s *site) underRefs(missing map[string]string) error {
	out, err := s.tryGit(nil, "rev-list", "--objects", "--branches", "--glob=refs/gl/wip")
	takeOff(missing, out)
	return err
}

func takeOff(missing map[string]string, objects string) {
	for line := range strings.Lines(objects) {
		hash, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		delete(missing, hash)
	}
}

// checkout is the person's: HEAD, the index, and the files, all byte by byte.
func (s *site) checkout() map[string]string {
	files := map[string]string{"branch": s.git("symbolic-ref", "HEAD"), "commit": s.git("rev-parse", "HEAD"), "index": s.read(".git", "index")}
	check(s.t, filepath.WalkDir(s.Root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(s.Root, path)
		switch {
		case err != nil:
			return err
		case name == ".git" || name == ".greenlight":
			return filepath.SkipDir
		case d.Type().IsRegular():
			files["file "+name] = s.read(name)
		default:
			files["other "+name] = d.Type().String()
		}
		return nil
	}))
	return files
}

// differs are the keys whose values are different.
func differs(a, b map[string]string) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if b[key] != a[key] {
			keys = append(keys, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}
