package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/environ"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// A Settler settles attempts: their own, or those of wrappers that died.
type Settler struct {
	Store   *Store
	Tracker tracker.Tracker
	Hold    time.Duration // the first hold where the limit doesn't say when it ends
	Now     func() time.Time

	// opens the repository; asked for attempts in worktrees alone
	Worktrees func(ctx context.Context) (*worktree.Repo, error)
	// finds what dead wrappers have started, and fetches its work
	Executor executor.Executor
}

// Settle ends an attempt by the outcome table and returns its final record. mine is the record
// as the caller knows it, with what the caller saw; on disk it may be gone (the directory was
// cleaned) or settled already, by a process that took the wrapper for dead. Then the settled
// record is returned and nothing is changed.
func (s *Settler) Settle(ctx context.Context, mine *Record) (*Record, error) {
	var final *Record
	err := s.Tracker.Do(ctx, func(tx tracker.Tx) (err error) {
		final, err = s.settle(tx, mine)
		return err
	})
	if err == nil {
		s.Note(ctx, final)
	}
	return final, err
}

func (s *Settler) settle(tx tracker.Tx, mine *Record) (*Record, error) {
	tx = mine.Tx(tx)
	if err := s.Store.Files.Prepare(); err != nil { // git clean -x takes the directories too
		return nil, err
	}
	r := *mine
	var bad *BadRecord
	switch disk, err := s.Store.Get(r.ID.Slice, r.ID.N); {
	case errors.As(err, &bad) && bad.Settled: // over already, and not judged again
		return nil, err
	case err == nil && disk.ID.Token != r.ID.Token:
		// the directory was cleaned, and the slice claimed anew
		return disk, nil
	case err == nil && disk.Life.Phase == plan.Settled:
		s.Store.diary.retell(disk)
		return disk, s.Store.Within(tx.Held()).dropLive(&r)
	case err == nil && disk.Life.Phase == plan.Queued: // the lane settles it
		return disk, nil
	case err == nil && disk.Life.Phase == plan.Ended:
		// judged by a process that died before settling it
		r = *disk
	case err == nil:
		r.Life.Ending, r.Life.EndingDetail = disk.Life.Ending, disk.Life.EndingDetail
	}
	it, err := tx.Item(r.ID.Slice)
	if err != nil || it.Corrupt != "" {
		return s.recordOnly(tx, &r, it, err)
	}
	// A judgement whose effect isn't in the slice's file yet (the claim is) may be older than
	// what the file says.
	if r.Life.Phase != plan.Ended || it.Session == r.ID.Token && r.Landing == nil {
		if err := s.decide(tx, &r, it); err != nil {
			return nil, err
		}
	}
	if r.Life.Phase == plan.Queued {
		return &r, s.withdraw(tx, &r, it)
	}
	return s.apply(tx, &r, it)
}

// decide decides the outcome, or that the lane has to, and makes the decision durable before the
// slice's file follows it. The hold comes first: a slice that is available again must find
// everybody holding.
func (s *Settler) decide(tx tracker.Tx, r *Record, it plan.Item) error {
	now := s.Now().UTC()
	if err := refute(s.Store, r); err != nil {
		return err
	}
	said := it
	if r.Place.Lineage > 0 && it.Session != r.ID.Token {
		if open := s.Store.earlierWord(r.ID.System, &it); open != nil {
			said = *open
		}
	}
	v, err := Judge(r, said)
	if err != nil {
		return err
	}
	again := r.Life.Phase == plan.Ended
	r.Task.HasSummary = r.hasSummary()
	if r.Judged.Tests = it.Tests; r.awaitsLane(v.Outcome) {
		r.Life.Phase, r.Landing = plan.Queued, &Landing{Queued: now}
	} else {
		r.Life.Phase = plan.Ended
		r.Judged.Outcome, r.Judged.Detail = v.Outcome, v.Detail
		r.Judged.Effect, r.Judged.Verified = v.Effect, v.Verified
		s.askGate(r, it)
		s.leaveToPerson(r)
	}
	r.Judged.Seen = &plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}
	if r.Life.Phase == plan.Queued { // as withdraw leaves it
		r.Judged.Seen.Status, r.Judged.Seen.Step = tracker.Verifying, tracker.Verifying
	}
	if r.Life.EndedAt == nil {
		r.Life.EndedAt = &now
	}
	switch {
	case v.Limit != nil:
		err = s.Store.HoldFile.put(r, v.Limit, now, s.Hold)
	case r.Judged.evidence().Limit == nil:
		// with one, the outcome holds no launches, but it doesn't prove that the limit is over
		err = s.Store.HoldFile.end(r, now)
	}
	if r.Life.Phase == plan.Ended && !again {
		err = errors.Join(err, s.Store.HoldFile.noteStreak(r, now))
	}
	if err := errors.Join(err, s.Store.Within(tx.Held()).Put(r)); err != nil {
		return err
	}
	s.Store.diary.tell(r, again)
	return nil
}

// askGate has the gate decide about work that was called complete and doesn't go through the merge
// queue. What its agent can put right goes back to it; what else doesn't pass waits for a
// person.
func (s *Settler) askGate(r *Record, it plan.Item) {
	review := r.Judged.Outcome == outcome.Waiting && r.Judged.Effect == tracker.Ask &&
		it.WaitingFor == ""
	if r.Judged.Outcome != outcome.Done && !review || r.Landing != nil {
		return
	}
	r.Judged.Gate = gate.Ask(r.here(s.Tracker.Traits().Completes))
	_, err := r.Judged.Gate.Pass("")
	switch asks := r.Judged.Gate.Asks(); {
	case err == nil && r.Judged.Verdict.Green() &&
		r.Judged.Gate.Answer(gate.Tests).Says == gate.Unknown:
		r.Judged.Detail += ", " + uncompared
	case err == nil:
	case r.Judged.Gate.Refused() != "":
		r.Judged.Outcome, r.Judged.Effect, r.Judged.Verified, r.Judged.Detail = outcome.Red,
			tracker.Reopen, "", r.Judged.Gate.Refused()
	case asks != "":
		r.Judged.Outcome, r.Judged.Effect, r.Judged.Verified, r.Judged.Detail = outcome.Waiting,
			tracker.Ask, "", ReviewText(r.Judged.Verdict, asks)
	default:
		r.Judged.Outcome, r.Judged.Effect, r.Judged.Verified, r.Judged.Detail = outcome.Waiting,
			tracker.Ask, "", reviewing+err.Error()
	}
}

// leaveToPerson has a person look at tests that fail on what another system calls complete: gl
// doesn't take back what that system's files say.
func (s *Settler) leaveToPerson(r *Record) {
	if r.Judged.Outcome == outcome.Red && !s.Tracker.Traits().Completes {
		r.Judged.Outcome, r.Judged.Effect = outcome.Waiting, tracker.Ask
		r.Judged.Detail = "a fix: " + r.Judged.Detail
	}
}

// HeldBack reports whether the attempt's tests failed on what another system calls complete, and
// haven't passed since.
func (r *Record) HeldBack() bool {
	return r.Judged.Outcome == outcome.Waiting && r.Place.Lineage == 0 && r.Judged.Verdict != nil &&
		!r.Judged.Verdict.Green()
}

// uncompared is said of tests that pass and that nothing is known about otherwise.
const uncompared = "tests not compared"

// apply writes the decision into the slice's file, if the slice is as it was at the decision
// and the claim is still ours or gone, and settles the record. A slice in the merge queue can't
// be claimed: another claim there is one that git brought back.
func (s *Settler) apply(tx tracker.Tx, r *Record, it plan.Item) (*Record, error) {
	mark := it.Mark()
	if mark == *r.Judged.Seen &&
		(it.Session == r.ID.Token || it.Session == "" || r.Landing != nil) {
		after, err := r.write(tx, it)
		if errors.Is(err, tracker.ErrChanged) {
			return s.recordOnly(tx, r, it, err)
		}
		if err != nil {
			return nil, err
		}
		mark = after
	}
	r.Judged.After = &mark
	return s.done(tx, r)
}

// write does to the slice's file what follows from the outcome.
func (r *Record) write(tx tracker.Tx, it plan.Item) (plan.Mark, error) {
	lander, lands := tx.(tracker.Lander)
	if n := r.Judged.failing(); lands &&
		(n != 0 || r.Judged.Effect == tracker.Ask && r.Judged.Verdict.Green()) {
		if err := lander.CountFailing(r.ID.Slice, n); err != nil {
			return plan.Mark{}, err
		}
	}
	switch {
	case r.Judged.Effect == tracker.Complete && lands:
		pass, err := r.Ruled().Pass("")
		if err != nil { // it stays incomplete, and is kept
			return lander.Ask(r.ID.Slice, reviewing+err.Error())
		}
		return lander.Land(r.ID.Slice,
			tracker.Landed{Pass: pass, Tests: r.counted(), New: r.Landing.gained()})
	case r.Judged.Effect == tracker.Ask && lands && it.WaitingFor != "" &&
		plan.Classify(it.Status) == plan.Done:
		// see asksBesides
		return lander.Ask(r.ID.Slice, it.WaitingFor)
	case r.Judged.Effect == tracker.Ask && lands:
		return lander.Ask(r.ID.Slice, reviewing+strings.TrimPrefix(r.Judged.Detail, reviewing))
	case r.Judged.Effect == tracker.Complete, r.Judged.Effect == tracker.Ask:
		return tx.Settle(r.ID.Slice, tracker.Release, r.Life.Before)
	}
	return tx.Settle(r.ID.Slice, r.Judged.Effect, r.Life.Before)
}

// failing is how many tests fail on work that was called complete. Work that is red for another
// reason has no count.
func (j *Judgement) failing() int {
	switch {
	case j.Outcome != outcome.Red:
		return 0
	case j.Verdict == nil || j.Verdict.Green() || j.Verdict.FailedCount() == 0:
		return plan.Uncounted
	}
	return j.Verdict.FailedCount()
}

// counted is how many tests the slice has by what gl has seen; nil where its agent's count
// stays. No slice has more than pass in all.
func (r *Record) counted() *int {
	switch {
	case r.Landing != nil && r.Landing.Tests != nil:
		n := max(*r.Landing.Tests, 0)
		return &n
	case r.Judged.Verdict != nil && r.Judged.Verdict.Passed != nil &&
		*r.Judged.Verdict.Passed < r.Judged.Tests:
		return r.Judged.Verdict.Passed
	}
	return nil
}

// gained is how many tests the attempt added to the suite, as gl has counted, negative for
// removed ones; nil for unknown.
func (l *Landing) gained() *int {
	if l == nil {
		return nil
	}
	return l.Tests
}

// recordOnly settles an attempt whose slice file can't be read or written: it must not hold up
// the others.
func (s *Settler) recordOnly(tx tracker.Tx, r *Record, it plan.Item, err error) (*Record, error) {
	switch {
	case err != nil && !errors.Is(err, tracker.ErrNotFound) && !errors.Is(err, tracker.ErrChanged):
		return nil, err
	case err == nil:
		err = fmt.Errorf("%s: %s", it.File, it.Corrupt)
	}
	if r.Life.Phase != plan.Ended {
		it.Status = ""
		if err := s.decide(tx, r, it); err != nil {
			return nil, err
		}
	}
	r.Judged.Detail += "; its slice file was left alone: " + err.Error()
	r.Judged.After = &plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}
	return s.done(tx, r)
}

func (s *Settler) done(tx tracker.Tx, r *Record) (*Record, error) {
	now := s.Now().UTC()
	r.Life.SettledAt = &now
	if r.Life.EndedAt == nil {
		r.Life.EndedAt = &now
	}
	if err := s.Store.Messages.heardAtStart(r); err != nil && !errors.As(err, new(*BadRecord)) {
		// the person's words stay where they are
		return r, err
	}
	if r.Judged.Outcome.Traits().Success {
		s.Store.Proofs.forgetHanded(r)
		s.Store.Proofs.ForgetBaseline(r)
		if err := s.Store.Messages.Drop(r.ID.System, r.ID.Work()); err != nil &&
			!errors.As(err, new(*BadRecord)) {
			return r, err
		}
	}
	return r, s.Store.Within(tx.Held()).finish(r)
}

// Recover settles an attempt whose launcher or wrapper is proven dead, after ending what is
// left of its agent. It returns the settled record; nil for a claim that was given back, and
// for an attempt that isn't dead. It may take seconds, and holds the lock only for its writes.
func (s *Settler) Recover(ctx context.Context, r *Record) (*Record, error) {
	if r.Life.Phase == plan.Settled || !r.Life.Dead() {
		return nil, nil
	}
	switch {
	case r.Life.Phase == plan.Claimed:
		return nil, s.GiveBack(ctx, r)
	case r.Life.Phase == plan.Preparing && r.Life.Ending == "":
		if err := s.endOrphans(r); err != nil {
			return nil, err
		}
		return nil, s.GiveBack(ctx, r)
	}
	return s.settleOrphan(ctx, r)
}

// endOrphans ends what is left of the agent, or of the setup command, of a wrapper that is gone.
func (s *Settler) endOrphans(r *Record) error {
	if r.Life.Process == nil || !r.Life.Process.Here() && r.Life.treeGone() {
		return nil
	}
	lost := executor.Lost{Handle: command.Handle{Process: *r.Life.Process},
		Marks: s.Store.Files.Marks(r), Leaves: executor.Nothing, Grace: command.EndGrace}
	if r.Life.Phase == plan.Preparing { // setup may leave a service
		lost.Leaves = executor.Services
	}
	run := s.Executor.Find(lost)
	run.End()
	if res, err := run.Wait(); err != nil || res.Leftover != nil {
		err = cmp.Or(err, res.Leftover)
		return fmt.Errorf("%s: its agent (pid %d) outlived it and can't be ended: %w", r.ID.Name(),
			r.Life.Process.PID, err)
	}
	return nil
}

// Mark is the variable by which the agent of the attempt with that token is known, from its first
// instant.
func Mark(token string) string { return environ.Session + "=" + token }

// Marks are the variables by which the processes of the attempt are known: those of its agent, and
// of the tests in its place.
func (f Files) Marks(r *Record) []string {
	return []string{Mark(r.ID.Token), testrun.MarkOf(f.root(), r.ID.Token)}
}

// settleOrphan ends what is left of the agent of a wrapper that is gone, and settles the
// attempt by what the log says.
func (s *Settler) settleOrphan(ctx context.Context, r *Record) (*Record, error) {
	if err := s.endOrphans(r); err != nil {
		return nil, err
	}
	mine := *r
	s.replay(&mine)
	s.Keep(ctx, &mine)
	LookForWants(ctx, &mine)
	return s.Settle(ctx, &mine)
}

// GiveBack undoes a claim that hasn't started, by any process; one that has started meanwhile
// is left alone.
func (s *Settler) GiveBack(ctx context.Context, r *Record) error {
	return s.giveBackClaim(ctx, r, false)
}

// FailStart settles a claim as failed whose wrapper never got to start the agent. It returns
// nil if the agent has started meanwhile.
func (s *Settler) FailStart(ctx context.Context, r *Record, why string) (final *Record, err error) {
	if r.Life.Phase == plan.Preparing {
		if err := s.endOrphans(r); err != nil {
			return nil, err
		}
	}
	err = s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := s.Store.Get(r.ID.Slice, r.ID.N)
		if err != nil || !disk.unstarted(r) {
			return err
		}
		disk.Judged.Evidence = &Evidence{NotStarted: why}
		final, err = s.settle(tx, disk)
		return err
	})
	return final, err
}

// unstarted reports whether the record on disk is still the claim r, and no wrapper is about to
// start its agent.
func (disk *Record) unstarted(r *Record) bool {
	return disk.ID.Token == r.ID.Token && !disk.Life.Phase.Begun() &&
		(disk.Life.Phase != plan.Preparing || disk.Life.Dead())
}

// ErrAgentLives says that a claim can't be given back, since a process of its agent is still there.
var ErrAgentLives = errors.New("its agent is still running")

// GiveBackLost is GiveBack for who made the claim and believes that its wrapper is gone. It
// doesn't need the record, which may have been removed (git clean -x) or garbled. Since the
// record may also have been removed after the agent was started, it looks for the claim's token
// in the processes' environments first: the error is ErrAgentLives if one has it.
func (s *Settler) GiveBackLost(ctx context.Context, r *Record) error {
	return s.giveBackClaim(ctx, r, true)
}

func (s *Settler) giveBackClaim(ctx context.Context, r *Record, lost bool) error {
	return s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := s.Store.Get(r.ID.Slice, r.ID.N)
		var bad *BadRecord
		unusable := errors.Is(err, fs.ErrNotExist) ||
			errors.As(err, &bad) && !bad.Settled && !bad.Keep
		switch {
		case unusable && lost:
			if lives, err := proc.HasVariable(environ.Session + "=" + r.ID.Token); err != nil ||
				lives {
				return cmp.Or(err, ErrAgentLives)
			}
			disk = r
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !disk.unstarted(r):
			return nil
		}
		return s.Store.Within(tx.Held()).giveBack(tx, disk)
	})
}

// replay finds out from the log how an agent ended whose end was unseen, its result event or
// the limit it met, and which conversation it had. Where the log says nothing, the record stays
// as it is.
func (s *Settler) replay(r *Record) {
	if r.Judged.Evidence != nil {
		return
	}
	log := logfile.NewReader(s.Store.Files.Log(r.ID.Slice, r.ID.N))
	defer log.Close()
	d, in := agent.NewDecoder(r.Job.Stream), lines.NewSplitter(lines.Max)
	decode := func(p lines.Piece) {
		switch note, ours := logfile.ParseNote(p.Text); {
		case !ours:
			d.Piece(p)
		case note.From == logfile.Anew:
			d = agent.NewDecoder(r.Job.Stream)
		}
	}
	if in.Read(log, decode) != nil {
		return
	}
	in.End(decode)
	sum := d.Summary()
	r.Talk.Conversation = cmp.Or(sum.Conversation, r.Talk.Conversation)
	if sum.Result != nil || sum.Limit != nil {
		r.Judged.Evidence = &Evidence{Result: sum.Result, Limit: sum.Limit, Denials: sum.Denials,
			Version: sum.Version, Tokens: sum.Tokens, ReadOnly: sum.ReadOnly}
	}
}
