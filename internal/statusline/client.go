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
	clientLimit = 500 * time.Millisecond // for the document to arrive: some terminals leave the pipe open
	clientBytes = 1 << 20
)

// ReadClient reads one JSON object, and doesn't wait for the input to end after it. A nil reader has none.
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

// Dir is the directory that the session is in; "" if the client doesn't say.
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

// model is the name of the model, or of the client if it names none; "" without a client.
func (c Client) model() string {
	if c == nil {
		return ""
	}
	return cmp.Or(c.text("model", "display_name"), c.text("model"), "Claude")
}

// used is how full the context is, in percent; -1 for unknown.
func (c Client) used() int {
	if n, ok := c.at("context_window", "used_percentage").(float64); ok {
		return int(math.Round(max(0, min(100, n))))
	}
	if n, ok := c.at("context_window", "remaining_percentage").(float64); ok {
		return int(math.Round(max(0, min(100, 100-n))))
	}
	return -1
}

// at is the value at a path of keys; nil for none.
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
