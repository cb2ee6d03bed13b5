package statusline

import (
	"cmp"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"time"
)

// A Client is the JSON document that Claude Code passes on stdin; nil if there is none.
type Client map[string]any

const (
	// for the document to arrive: some terminals leave the pipe open
	clientLimit = 500 * time.Millisecond
	clientBytes = 1 << 20
)

// ReadClient reads one JSON object without waiting for the end of the input. It returns nil for
// a nil reader.
func ReadClient(in io.Reader) Client {
	if in == nil {
		return nil
	}
	result := make(chan Client, 1)
	go func() {
		defer func() { _ = recover() }() // as if nothing had arrived
		var c Client
		if json.NewDecoder(io.LimitReader(in, clientBytes)).Decode(&c) != nil {
			c = nil
		}
		result <- c
	}()
	select {
	case c := <-result:
		return c
	case <-time.After(clientLimit):
		return nil
	}
}

// Dir returns the session's directory, "" if the client doesn't give one.
func (c Client) Dir() string {
	dir := c.text("workspace", "current_dir")
	if dir == "" {
		dir = c.text("cwd")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// model returns the name of the model, or of the client if it gives none; "" without a client.
func (c Client) model() string {
	if c == nil {
		return ""
	}
	return cmp.Or(c.text("model", "display_name"), c.text("model"), "Claude")
}

// used returns how full the context is, in percent of what can be used before the client
// compacts it; -1 if unknown.
func (c Client) used() int {
	if n, ok := c.at("context_window", "used_percentage").(float64); ok {
		return usable(100 - n)
	}
	if n, ok := c.at("context_window", "remaining_percentage").(float64); ok {
		return usable(n)
	}
	return -1
}

// kept is the part of the context, in percent, that the client reserves for compacting. GSD's
// status line leaves it out, too.
const kept = 16.5

// usable returns how much of the usable context is used, if remaining percent of the whole
// remain.
func usable(remaining float64) int {
	left := max(0, remaining-kept) / (100 - kept) * 100
	return int(math.Round(max(0, min(100, 100-left))))
}

// windows returns how much of the account's usage windows is used, in percent. The client
// reports it only with a subscription.
func (c Client) windows() (all []Use) {
	for _, w := range []struct{ key, name string }{{"five_hour", "5h"}, {"seven_day", "7d"}} {
		if n, ok := c.at("rate_limits", w.key, "used_percentage").(float64); ok {
			all = append(all, Use{w.name, int(math.Round(max(0, min(100, n))))})
		}
	}
	return all
}

// cost returns the session's cost in dollars; 0 if it is unknown or zero.
func (c Client) cost() float64 {
	n, _ := c.at("cost", "total_cost_usd").(float64)
	if !(n > 0 && n < 1e6) {
		return 0
	}
	return n
}

// at returns the value at a path of keys, or nil.
func (c Client) at(path ...string) any {
	var v any = map[string]any(c)
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func (c Client) text(path ...string) string {
	s, _ := c.at(path...).(string)
	return s
}
