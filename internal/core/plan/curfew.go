package plan

import (
	"fmt"
	"strings"
	"time"
)

// A Curfew is the times of day, local time, in which nothing is launched.
type Curfew []DayTime

// A DayTime is a part of the day, in minutes since midnight: from From up to but excluding To,
// past midnight if To isn't later.
type DayTime struct{ From, To int }

const minutesOfDay = 24 * 60

// ParseDayTime parses "22:00-07:00".
func ParseDayTime(text string) (DayTime, error) {
	from, to, ok := strings.Cut(text, "-")
	a, errA := clockMinutes(from)
	b, errB := clockMinutes(to)
	switch {
	case !ok || errA != nil || errB != nil:
		return DayTime{}, fmt.Errorf("%q is no time of day such as 09:00-17:30", text)
	case a == b:
		return DayTime{}, fmt.Errorf("%q is the whole day", text)
	}
	return DayTime{a, b}, nil
}

func clockMinutes(text string) (int, error) {
	text = strings.TrimSpace(text)
	if text == "24:00" {
		return 0, nil
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err
}

func (d DayTime) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", d.From/60, d.From%60, d.To/60, d.To%60)
}

func (d DayTime) has(minute int) bool {
	if d.From < d.To {
		return d.From <= minute && minute < d.To
	}
	return minute >= d.From || minute < d.To
}

// Always reports whether the curfew covers the whole day.
func (c Curfew) Always() bool {
	for minute := range minutesOfDay {
		if _, in := c.at(minute); !in {
			return false
		}
	}
	return true
}

func (c Curfew) at(minute int) (d DayTime, in bool) {
	for _, d := range c {
		if d.has(minute) {
			return d, true
		}
	}
	return DayTime{}, false
}

func (c Curfew) in(t time.Time) bool {
	t = t.Local()
	_, in := c.at(t.Hour()*60 + t.Minute())
	return in
}

// Hold returns the curfew as a hold; nil if there is none at that time. It finds the ends
// minute by minute on the local clock: on a day with a clock change, a time of day may be
// missing or occur twice.
func (c Curfew) Hold(now time.Time) *Hold {
	if len(c) == 0 || !c.in(now) {
		return nil
	}
	minute := now.Truncate(time.Minute)
	since, until := minute, minute
	for i := 0; c.in(until) && i < 3*minutesOfDay; i++ {
		until = until.Add(time.Minute)
	}
	for i := 0; c.in(since.Add(-time.Minute)) && i < 3*minutesOfDay; i++ {
		since = since.Add(-time.Minute)
	}
	local := now.Local()
	d, _ := c.at(local.Hour()*60 + local.Minute())
	return &Hold{Kind: HeldByCurfew, Since: since.UTC(), Until: until.UTC(), Reason: "parallel.curfew " + d.String()}
}
