package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
)

// staleLock is longer than a running git holds a lock, unless a person has an editor open in it.
const staleLock = time.Minute

// checkLocks reports lock files of dead git processes. They make every git command fail.
func checkLocks(x *exam) []Finding {
	var all []Finding
	at, err := git.FindCheckout(x.ctx, x.pr.Root)
	if err != nil { // no repository, or no git
		return nil
	}
	for _, l := range git.Locks(at.Common, staleLock) {
		rel := paths.Relative(x.pr.Root, l.Path)
		text := fmt.Sprintf("is a lock file of git, %s old; git refuses to change what it protects",
			plan.Age(x.Now.Sub(l.Made)))
		switch users := proc.Users(l.Path); {
		case beforeBoot(l):
			all = append(all, fixable(rel, text+
				"; it is from before this machine was started, so the git that made it is gone"))
		case len(users) > 0:
			all = append(all, found(Warning, rel,
				text+"; it is in use by "+strings.Join(users, ", "), "wait for that, or end it"))
		case len(proc.Gits(at.Common)) > 0:
			all = append(all, found(Warning, rel, text+"; no process has it open, but there is git at work here: "+strings.Join(proc.Gits(at.Common), ", "),
				"wait for that; then rm "+shellwords.Quote(l.Path)))
		default:
			all = append(all, found(Warning, rel, text+"; no process has it open, and no git works in this repository", "rm "+shellwords.Quote(l.Path)))
		}
	}
	return all
}

// fixLocks removes locks whose git is proven dead: no process survives a reboot.
func fixLocks(ctx context.Context, pr *project.Project) (did []string, err error) {
	at, err := git.FindCheckout(ctx, pr.Root)
	if err != nil {
		return nil, nil
	}
	for _, l := range git.Locks(at.Common, staleLock) {
		if !beforeBoot(l) {
			continue
		}
		if err := durable.Unlink(l.Path); err != nil {
			return did, err
		}
		did = append(did, "removed "+paths.Relative(pr.Root, l.Path))
	}
	return did, nil
}

// beforeBoot reports whether the lock is older than the machine's boot, by a safe margin, because
// clocks are set after it.
func beforeBoot(l git.Lock) bool {
	boot, ok := proc.BootTime()
	return ok && l.Made.Before(boot.Add(-time.Hour))
}
