package agent

import (
	"slices"
	"time"
)

// A Window is a period with a usage limit of an account, as the client reports it.
type Window struct {
	Name    string     // "five_hour", "seven_day"; "" if the client doesn't name it
	Percent float64    // used part
	Reset   *time.Time // when it restarts; nil if unknown
}

// accountWindows are the windows of the whole account. Others belong to a model, or to extra
// usage.
var accountWindows = []string{"five_hour", "seven_day", ""}

// fullest returns the window with the highest usage, nil if the event has none.
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

// Words returns the window's name for people: "5-hour window".
func (w *Window) Words() string {
	switch w.Name {
	case "five_hour":
		return "5-hour window"
	case "seven_day":
		return "7-day window"
	}
	return "usage window"
}
