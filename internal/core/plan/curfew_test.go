package plan

import (
	"testing"
	"time"
)

func TestCurfew(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	time.Local = berlin
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		curfew string
		now    string
		until  string // "" for none
	}{
		{"09:00-17:30", "2026-01-15T08:59:59+01:00", ""},
		{"09:00-17:30", "2026-01-15T09:00:00+01:00", "2026-01-15T17:30:00+01:00"},
		{"09:00-17:30", "2026-01-15T17:30:00+01:00", ""},
		{"22:00-07:00", "2026-01-15T23:10:20+01:00", "2026-01-16T07:00:00+01:00"},
		{"22:00-07:00", "2026-01-16T06:59:59+01:00", "2026-01-16T07:00:00+01:00"},
		{"18:00-24:00", "2026-01-16T20:00:00+01:00", "2026-01-17T00:00:00+01:00"},
		// On 29 March the clock goes from 02:00 to 03:00; 02:30 doesn't exist.
		{"22:00-07:00", "2026-03-28T23:00:00+01:00", "2026-03-29T07:00:00+02:00"},
		{"01:00-02:30", "2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"},
		// On 25 October the clock goes from 03:00 to 02:00; 02:30 comes twice.
		{"22:00-07:00", "2026-10-24T23:00:00+02:00", "2026-10-25T07:00:00+01:00"},
		{"01:00-02:30", "2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+02:00"},
		{"01:00-02:30", "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+01:00"},
	} {
		d, err := ParseDayTime(c.curfew)
		if err != nil {
			t.Fatal(err)
		}
		h := Curfew{d}.Hold(at(c.now))
		switch {
		case h == nil && c.until == "":
		case h == nil || c.until == "" || !h.Until.Equal(at(c.until)) || h.Since.After(at(c.now)):
			t.Errorf("%s at %s: %+v, want until %q", c.curfew, c.now, h, c.until)
		}
	}
	evening, _ := ParseDayTime("17:00-22:00")
	night, _ := ParseDayTime("22:00-07:00")
	if h := (Curfew{evening, night}).Hold(at("2026-01-15T18:00:00+01:00")); !h.Until.Equal(at("2026-01-16T07:00:00+01:00")) {
		t.Errorf("two parts that meet: %+v", h)
	}
	for _, text := range []string{"", "9", "25:00-26:00", "09:00-09:00", "09:00", "09:00-17:30-18:00"} {
		if d, err := ParseDayTime(text); err == nil {
			t.Errorf("%q: %v", text, d)
		}
	}
	p := New(&Snapshot{Hold: &Hold{Kind: HeldByBudget, Until: at("2026-01-15T12:00:00+01:00")}}, at("2026-01-15T18:00:00+01:00"), Options{Curfew: Curfew{evening}})
	if p.Hold == nil || p.Hold.Kind != HeldByCurfew || p.Hold.Describe(at("2026-01-15T18:00:00+01:00")) != "until 22:00 (parallel.curfew 17:00-22:00)" {
		t.Errorf("%+v", p.Hold)
	}
}
