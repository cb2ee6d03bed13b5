package specwright

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"greenlight/internal/core/plan"
)

// command runs a gl sw command from advice, with its placeholders filled in.
func command(t *testing.T, e *Edit, line string) error {
	t.Helper()
	words := strings.Fields(strings.TrimPrefix(line, "gl sw "))
	switch words[0] {
	case "status":
		return nil
	case "start":
		return e.Start(NewWork{ID: "new", Description: "N", Intensity: "full"})
	case "to":
		return e.To(words[1])
	case "unit":
		if words[1] == "approve" {
			return e.ApproveUnit(words[2])
		}
		_, err := e.NextUnit()
		return err
	case "task":
		return e.FinishTask("t9")
	case "gate":
		return e.SetGate(Result{Name: "spec", Status: "PASS"})
	case "ship":
		_, err := e.Ship()
		return err
	case "reset":
		return e.Reset()
	}
	t.Fatalf("advice names %q", line)
	return nil
}

// A lock whose time can't be read counts by the file's last change. The advice for it is a command
// that releases it, which takes --force.
func TestAdviceForALockWithoutATime(t *testing.T) {
	for _, lock := range []string{`{"skill":"sw-build"}`, `{"skill":"sw-build","since":"this morning"}`, `{"skill":"sw-build","since":"2026-03-05T12:00:00Z"}`} {
		s := project(t, at(`"status":"building"`, twoUnits, `,"lock":`+lock))
		list := s.Check()
		if len(list) != 1 || !strings.HasPrefix(list[0].Help, "gl sw unlock --force") {
			t.Errorf("%s: %+v", lock, list)
		}
		release := func(e *Edit) error { _, err := e.ReleaseLock(); return err }
		if _, err := s.Update(t.Context(), Caller{}, release); !errors.As(err, new(*LockedError)) {
			t.Errorf("%s: released without --force: %v", lock, err)
		}
		if e := update(t, s, Caller{Force: true}, release); e.State.Lock != nil {
			t.Errorf("%s: %+v is left", lock, e.State.Lock)
		}
	}
}

// For any file, advice names no command that is refused, the next step is one that the plan
// knows, and a unit is ready if and only if it can be claimed.
func TestAdviceIsAccepted(t *testing.T) {
	root := project(t, "{}", "spec").root
	edit := func(text string) *Edit {
		doc, st, err := parse([]byte(text), base)
		if err != nil {
			t.Fatal(err)
		}
		return &Edit{State: st, root: root, doc: doc, now: base}
	}
	each := func(text string) {
		e := edit(text)
		cfg := ReadConfig(root)
		verdict := e.State.Verdict(root, cfg, base)
		items := (&itemMaker{s: e.State, verdict: verdict}).items()
		p := plan.New(&plan.Snapshot{Items: plan.Pointers(items)}, base, plan.Options{})
		hint := e.State.Next(root, cfg, base)
		advice := []string{hint.Command, hint.Also}
		turns := ""
		for _, it := range items {
			advice = append(advice, it.Next...)
			if strings.Contains(strings.Join(it.Next, "\n"), "gl sw unit next") {
				turns += it.ID
			}
		}
		for _, line := range advice {
			if !strings.HasPrefix(line, "gl sw ") {
				continue
			}
			if err := command(t, edit(text), line); err != nil {
				t.Errorf("%s\nadvice %s: %v", text, line, err)
			}
		}
		for _, id := range p.Lists.Ready {
			if id != e.State.InHand() {
				t.Errorf("%s\n%s is ready, but %q is in hand", text, id, e.State.InHand())
			}
		}
		if !free(e.State.Status()) && len(p.Lists.Ready)+len(p.Lists.Running)+len(p.Lists.Waiting)+len(p.Lists.Unknown) == 0 {
			t.Errorf("%s\nwork is in hand, and the plan has nothing", text)
		}
		if turns != "" && hint.Also != "gl sw unit next" {
			t.Errorf("%s\nthe turn of %s has come, but the next step is %s", text, turns, hint.Also)
		}
		if hint.Also == "gl sw unit next" {
			before := e.State.InHand()
			next, err := e.NextUnit()
			st := p.State(next)
			if err != nil || st == nil || st.Class != plan.Waiting || len(st.Needs) > 0 {
				t.Errorf("%s\nthe next unit is %q (%v), which the plan has as %+v", text, next, err, st)
			}
			if next == before {
				t.Errorf("%s\n%s is begun again", text, next)
			}
			if u := e.State.unit(before); u != nil && !free(canonical(u.Status)) {
				t.Errorf("%s\nunit %s stays %s", text, before, u.Status)
			}
		}
	}
	entries := []string{Pending, Planned, Building, Verifying, Shipped, Abandoned}
	for _, status := range append(Targets(), "odd") {
		for _, unit := range []string{"null", `"u1"`, `"u2"`, `"gone"`} {
			each(fmt.Sprintf(`{"version":"2.0","currentWork":{"id":"w","status":%q,"unitId":%s,"workDir":"d"},"gates":{}}`, status, unit))
			for _, a := range entries {
				for _, b := range entries {
					each(fmt.Sprintf(`{"version":"2.0","currentWork":{"id":"w","status":%q,"unitId":%s,"workDir":"d"},"gates":{},"workUnits":[`+
						`{"id":"u1","status":%q,"workDir":"a"},{"id":"u2","status":%q,"workDir":"b"}]}`, status, unit, a, b))
				}
			}
		}
	}
	each(`{"version":"2.0","currentWork":null,"gates":{},"workUnits":[{"id":"u1","status":"planned","workDir":"a"}]}`)
}
