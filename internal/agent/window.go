package agent

import (
	"slices"
	"time"
)

// A Window is the time for which an account has so much use, as the client tells of it.
type Window struct {
	Name    string     // "five_hour", "seven_day"; "" for one that the client doesn't name
	Percent float64    // used of it
	Reset   *time.Time // when it begins anew; nil for unknown
}

// accountWindows are those of the whole account. Others are of a model, or of what is paid beside.
var accountWindows = []string{"five_hour", "seven_day", ""}

// fullest is the window of which most is used, nil if the event tells of none.
func (info *rateLimitInfo) fullest() *Window {
	var full *Window
	see := func(name string, utilization any, reset instant) {
		part, ok := utilization.(float64)
		if !ok || !(part >= 0) || !slices.Contains(accountWindows, name) {
			return
		}
		if full == nil || part*100 > full.Percent {
			full = &Window{Name: name, Percent: part * 100, Reset: reset.at}
		}
	}
	see(info.Type, info.Utilization, info.ResetsAt)
	for _, name := range accountWindows {
		if w, ok := info.Windows[name]; ok {
			see(name, w.Utilization, w.ResetsAt)
		}
	}
	return full
}

// Words are the window as people call it: "5-hour window".
func (w *Window) Words() string {
	switch w.Name {
	case "five_hour":
		return "5-hour window"
	case "seven_day":
		return "7-day window"
	}
	return "usage window"
}
