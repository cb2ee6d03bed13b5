package specwright

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// at returns a state of two units, of which the first is current.
func at(work, units, rest string) string {
	return fmt.Sprintf(`{"currentWork":{"id":"w","description":"W","unitId":"a",%s},"workUnits":[%s]%s}`, work, units, rest)
}

const (
	twoUnits = `{"id":"a","description":"A","status":"building","order":1,"workDir":"a"},{"id":"b","status":"planned","order":2,"workDir":"b"}`
	passed   = `,"gates":{"tests":{"status":"PASS"},"spec":{"status":"WARN"}}`
	foreign  = `,"lock":{"skill":"sw-build","since":"2026-03-04T11:50:00Z","holder":"x"}`
	stale    = `,"lock":{"skill":"sw-build","since":"2026-03-04T11:20:00Z","holder":"x"}`
)

// What each state means for a plan: "id class [step] [for …]", in order.
func TestItems(t *testing.T) {
	for name, c := range map[string]struct{ state, want string }{
		"none":             {`{"currentWork":null}`, ""},
		"single":           {`{"currentWork":{"id":"w","status":"building","tasksTotal":2,"tasksCompleted":["x"]}}`, "w available building"},
		"single done":      {`{"currentWork":{"id":"w","status":"shipped"}}`, "w done"},
		"single abandoned": {`{"currentWork":{"id":"w","status":"abandoned"}}`, ""},
		"designing":        {at(`"status":"designing"`, twoUnits, ""), "a waiting designing for its design, to be approved by a person; b available ! a"},
		"planning":         {at(`"status":"planning"`, twoUnits, ""), "a waiting planning for its plan, to be approved by a person; b available ! a"},
		"building":         {at(`"status":"building"`, twoUnits, ""), "a available building; b available ! a"},
		"total unknown":    {at(`"status":"building","tasksTotal":null,"tasksCompleted":["x"]`, twoUnits, ""), "a available building; b available ! a"},
		"all tasks":        {at(`"status":"building","tasksTotal":1,"tasksCompleted":["x"]`, twoUnits, ""), "a available verifying; b available ! a"},
		"verifying":        {at(`"status":"verifying"`, twoUnits, ""), "a available verifying; b available ! a"},
		"verified":         {at(`"status":"verified"`, twoUnits, passed), "a waiting verifying for shipping: every enabled gate has passed; b available ! a"},
		"failed": {at(`"status":"verifying"`, twoUnits, `,"gates":{"tests":{"status":"FAIL"},"spec":{"status":"ERROR"}}`),
			"a waiting verifying for a fix: gate tests FAIL, gate spec ERROR; b available ! a"},
		"failed, fixing": {at(`"status":"building","tasksTotal":1,"tasksCompleted":["x"]`, twoUnits, `,"gates":{"tests":{"status":"FAIL"}}`),
			"a waiting verifying for a fix: gate tests FAIL, gate spec not run; b available ! a"},
		"gates of another unit": {at(`"status":"building","tasksTotal":2,"tasksCompleted":["x"]`, twoUnits, passed), "a available building; b available ! a"},
		"shipping":              {at(`"status":"shipping"`, twoUnits, passed), "a waiting shipping for shipping to be finished; b available ! a"},
		"shipped":               {at(`"status":"shipped"`, twoUnits, ""), "a done; b waiting for its turn: a person begins a unit"},
		"abandoned":             {at(`"status":"abandoned"`, twoUnits, ""), "b waiting for its turn: a person begins a unit"},
		"unapproved":            {at(`"status":"building"`, strings.Replace(twoUnits, "planned", "backlog", 1), ""), "a available building; b waiting for its spec, to be written and approved ! a"},
		"unknown":               {at(`"status":"odd"`, twoUnits, ""), "a unknown; b available ! a"},
		"gl's own word":         {at(`"status":"ready"`, strings.Replace(twoUnits, "planned", "done", 1), ""), `a waiting for a person: unknown status "ready"; b waiting for a person: unknown status "done" ! a`},
		"a unit's word":         {`{"currentWork":{"id":"w","status":"planned"}}`, `w unknown`},
		"a work's backlog":      {`{"currentWork":{"id":"w","status":"backlog"}}`, `w waiting for its turn: its status is "backlog"`},
		"lock of a skill, old":  {at(`"status":"building"`, twoUnits, `,"lock":{"holder":"sw-build","acquired":"long ago"}`), "a active building; b available ! a"},
		"no status":             {`{"currentWork":{"id":"w"}}`, `w waiting for a person: unknown status ""`},
		"locked":                {at(`"status":"building"`, twoUnits, foreign), "a active building; b available ! a"},
		"stale lock":            {at(`"status":"building"`, twoUnits, stale), "a available building; b available ! a"},
		"lock of a skill":       {at(`"status":"building"`, twoUnits, `,"lock":"sw-build"`), "a active building; b available ! a"},
		"begun early":           {at(`"status":"building"`, `{"id":"z","status":"planned","order":0},`+twoUnits, ""), "z waiting for its turn: a is the current unit; a available building; b available ! a"},
		"out of order":          {at(`"status":"shipped"`, `{"id":"c","status":"shipped"},`+twoUnits, ""), "a done; b waiting for its turn: a person begins a unit; c done"},
		"no unit in hand":       {`{"currentWork":{"id":"w","status":"building"},"workUnits":[{"id":"c","status":"shipped"},{"id":"d","status":"planned"}]}`, "c done; w available building; d available ! w"},
		"none left":             {`{"currentWork":{"id":"w","status":"building"},"workUnits":[{"id":"c","status":"shipped"}]}`, "c done; w available building"},
		"unit that is gone":     {`{"currentWork":{"id":"w","unitId":"gone","status":"building"},"workUnits":[{"id":"c","status":"shipped"}]}`, "c done; gone available building"},
		"no id":                 {`{"currentWork":{"status":"building"}}`, "currentWork corrupt building"},
		"drifted":               {at(`"status":"shipped"`, strings.Replace(twoUnits, "building", "planned", 1), ""), "a done; b waiting for its turn: a person begins a unit"},
		"not in hand":           {at(`"status":"building"`, strings.Replace(twoUnits, "planned", "verifying", 1), ""), "a available building; b waiting for a person: it is verifying, but isn't the current unit ! a"},
		"bad id":                {at(`"status":"building"`, twoUnits+`,{"id":"../x","status":"planned"}`, ""), "a available building; b available ! a; ../x corrupt ! b"},
		"twice":                 {at(`"status":"building"`, twoUnits+`,{"id":"b","status":"building"}`, ""), "a available building; b available ! a"},
		"version 3":             {`{"version":"3.0","id":"w","status":"building"}`, "w waiting building for a person: gl doesn't write version 3.0"},
	} {
		s := project(t, c.state, "tests", "spec")
		c2, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		p := plan.New(&plan.Snapshot{Items: c2.Items}, base, plan.Options{})
		var got []string
		for _, st := range p.States {
			text := st.ID + " " + string(st.Class)
			if st.Step != "" {
				text += " " + st.Step
			}
			if st.WaitingFor != "" {
				text += " for " + st.WaitingFor
			}
			if len(st.Needs) > 0 {
				text += " ! " + strings.Join(st.Needs, ",")
			}
			got = append(got, text)
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, all, c.want)
		}
	}
}

func do(t *testing.T, s *Store, f func(tracker.Tx) error) {
	t.Helper()
	if err := s.Do(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// A claim takes the visible lock and settling releases it: the attempt's own, or the one left
// in its place by an agent that follows the protocol, never another session's.
func TestClaimAndSettle(t *testing.T) {
	s := project(t, at(`"status":"building"`, twoUnits, ""))
	claim := func() {
		do(t, s, func(tx tracker.Tx) error {
			if _, err := tx.Item("a"); err != nil {
				return err
			}
			return tx.Claim("a", "token")
		})
	}
	settle := func(want string) {
		t.Helper()
		do(t, s, func(tx tracker.Tx) error {
			it, err := tx.Item("a")
			if err != nil || it.Session != "token" && it.Session != "" {
				return err
			}
			m, err := tx.Settle("a", tracker.Release, tracker.Before{})
			if m.Step != Building {
				t.Errorf("settled as %+v", m)
			}
			return err
		})
		doc, _, _ := parse([]byte(text(t, s)), base)
		if raw, _ := doc.Get("lock"); compact(t, raw) != want {
			t.Errorf("the lock is %s, want %s", raw, want)
		}
	}
	for left, want := range map[string]string{
		"": "null", `null`: "null", `"sw-build"`: "null", `{"skill":"sw-verify","since":"2026-03-04T12:00:00Z"}`: "null",
		`"sw-plan"`: `"sw-plan"`, `{"skill":"sw-build","since":"2026-03-04T12:00:00Z","holder":"x"}`: `{"skill":"sw-build","since":"2026-03-04T12:00:00Z","holder":"x"}`,
	} {
		put(t, s, StateFile, at(`"status":"building"`, twoUnits, ""))
		claim()
		if got := compact(t, []byte(text(t, s))); !strings.Contains(got, `"lock":{"skill":"sw-build","since":"2026-03-04T12:00:00.000Z","holder":"token"}`) {
			t.Fatalf("claimed: %s", got)
		}
		if left != "" {
			put(t, s, StateFile, at(`"status":"building"`, twoUnits, `,"lock":`+left))
		}
		settle(want)
	}
}

// An agent that goes back from verifying to building has not advanced: only a person sends a
// unit back, and every next unit begins with building.
func TestNoWayBackFromVerifying(t *testing.T) {
	s := project(t, at(`"status":"building","tasksTotal":1,"tasksCompleted":["x"]`, twoUnits, ""), "spec")
	claim := func() {
		t.Helper()
		do(t, s, func(tx tracker.Tx) error {
			it, err := tx.Item("a")
			if err != nil {
				return err
			}
			if err := tx.Claim("a", "token"); err != nil {
				return err
			}
			if it, err = tx.Item("a"); err != nil {
				return err
			}
			_, err = tx.Settle(it.ID, tracker.Release, tracker.Before{})
			return err
		})
	}
	step := func(want, waits string) {
		t.Helper()
		c, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		if it := c.Items[0]; it.Step != want || !strings.Contains(it.WaitingFor, waits) || (waits == "") != (it.WaitingFor == "") {
			t.Errorf("step %q, waiting for %q, want %q and %q", it.Step, it.WaitingFor, want, waits)
		}
	}
	step(Verifying, "")
	claim()
	more := func(e *Edit) error { return errors.Join(e.To(Verifying), e.To(Building), e.SetTotal(2)) }
	update(t, s, Caller{}, more)
	step(Verifying, "a person: tasks are open again after a verification (1/2 done)")
	if s.Prompt("a") != "/sw-build" { // for a person who uses --force
		t.Errorf("prompt %q", s.Prompt("a"))
	}
	claim()
	step(Building, "")

	update(t, s, Caller{}, func(e *Edit) error { return errors.Join(e.FinishTask("y"), e.To(Verifying)) })
	claim()
	pass := func(e *Edit) error { return e.SetGate(Result{Name: "spec", Status: "PASS"}) }
	update(t, s, Caller{}, pass)
	update(t, s, Caller{}, func(e *Edit) error { _, err := e.Ship(); return err })
	if c, err := s.Load(); err != nil || c.Items[1].Step != Building || c.Items[1].WaitingFor != "" {
		t.Errorf("%v, the next unit is %+v", err, c.Items[1])
	}
}

// The state that a claim was based on must still hold when it is made; only the current unit
// can be claimed.
func TestClaimIsRefused(t *testing.T) {
	s := project(t, at(`"status":"building"`, twoUnits, ""))
	before := text(t, s)
	err := s.Do(t.Context(), func(tx tracker.Tx) error { return tx.Claim("b", "token") })
	if err == nil || text(t, s) != before {
		t.Errorf("a unit that isn't in hand: %v", err)
	}
	err = s.Do(t.Context(), func(tx tracker.Tx) error {
		if _, err := tx.Load(); err != nil {
			return err
		}
		put(t, s, StateFile, at(`"status":"building"`, twoUnits, foreign))
		return tx.Claim("a", "token")
	})
	if err == nil || !strings.Contains(text(t, s), `"holder":"x"`) {
		t.Errorf("somebody took the lock meanwhile: %v", err)
	}
	if err := s.Do(t.Context(), func(tx tracker.Tx) error { _, err := tx.Item("no"); return err }); err == nil {
		t.Error("an unknown unit is found")
	}
}

// If the state breaks during an attempt, its units stay as corrupt items, and the attempt
// settles.
func TestBrokenMeanwhile(t *testing.T) {
	s := project(t, at(`"status":"building"`, twoUnits, ""))
	if _, err := s.Load(); err != nil {
		t.Fatal(err)
	}
	put(t, s, StateFile, `{"currentWork": {`)
	c, err := s.Load()
	if err != nil || len(c.Items) != 2 || c.Items[0].ID != "a" || c.Items[0].Corrupt == "" {
		t.Errorf("%v %+v", err, c)
	}
	do(t, Open(s.root), func(tx tracker.Tx) error {
		if it, err := tx.Item("a"); err != nil || it.Corrupt == "" {
			t.Errorf("%v %+v", err, it)
		}
		return nil
	})
}

// A lock under which an attempt is running is never stale.
func TestLockOfALiveAttempt(t *testing.T) {
	s := project(t, at(`"status":"building"`, twoUnits, stale))
	alive := true
	who := Caller{Token: "y", Live: func(token string) bool { return token == "x" && alive }}
	_, err := s.Update(t.Context(), who, func(e *Edit) error { return e.FinishTask("t") })
	if locked := new(LockedError); !errors.As(err, &locked) {
		t.Errorf("%v", err)
	}
	alive = false
	e := update(t, s, who, func(e *Edit) error { return e.FinishTask("t") })
	if len(e.Warnings) != 1 || e.State.Lock != nil {
		t.Errorf("%q, %+v", e.Warnings, e.State.Lock)
	}
}

// The holder's changes refresh a lock.
func TestChangesRefreshTheLock(t *testing.T) {
	s := project(t, at(`"status":"building"`, twoUnits, foreign))
	s.Now = func() time.Time { return base.Add(15 * time.Minute) }
	e := update(t, s, Caller{Token: "x"}, func(e *Edit) error { return e.FinishTask("t") })
	if e.State.Lock.Since != formatTime(s.Now()) {
		t.Errorf("since %s", e.State.Lock.Since)
	}
}

// A work is planned once its design is written: design.md or, for lite, context.md. Until then the
// refusal and the next step name /sw-design.
func TestDesignBeforePlan(t *testing.T) {
	for _, test := range []struct{ intensity, dir, file string }{
		{"full", "d", "d/design.md"}, {"", "d/", "d/design.md"}, {"lite", "d", "d/context.md"},
		{"full", "", ".specwright/work/w/design.md"}, {"quick", "d", ""},
	} {
		s := project(t, fmt.Sprintf(`{"version":"2.0","currentWork":{"id":"w","status":"designing","workDir":%q,"intensity":%q},"gates":{}}`,
			test.dir, test.intensity))
		plan := func() error {
			_, err := s.Update(context.Background(), Caller{}, func(e *Edit) error { return e.To(Planning) })
			return err
		}
		if test.file != "" {
			if err := plan(); err == nil || err.Error() != test.file+" isn't written. Run /sw-design first" {
				t.Errorf("%+v: %v", test, err)
			}
			put(t, s, test.file, " \n\n")
			if err := plan(); err == nil {
				t.Errorf("%+v: an empty design is planned", test)
			}
			st, err := s.Read()
			if err != nil || st.Next(s.root, Config{}, base).Command != "/sw-design" {
				t.Errorf("%+v: next is %+v, %v", test, st.Next(s.root, Config{}, base), err)
			}
			put(t, s, test.file, "# Design\n")
		}
		if err := plan(); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
