package agent

// Tokens are the tokens that a run took, as its agent counts them. The counts are disjoint.
type Tokens struct {
	Input  int64 `json:"input" jsonschema:"minimum=0"`  // not from a cache
	Output int64 `json:"output" jsonschema:"minimum=0"` //
	// input read from the service's cache
	CacheRead int64 `json:"cache_read" jsonschema:"minimum=0"`
	// input written to the service's cache
	CacheWrite int64 `json:"cache_write" jsonschema:"minimum=0"`
}

// Sane reports whether the counts are plausible.
func (u *Tokens) Sane() bool {
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
		if n < 0 || n > mostTokens {
			return false
		}
	}
	return true
}

const (
	mostTokens   = 1e15
	mostMessages = 100_000 // limit of messages whose usage is tracked separately
)

func newUsage(input, output, cacheRead, cacheWrite float64) *Tokens {
	u := &Tokens{whole(input), whole(output), whole(cacheRead), whole(cacheWrite)}
	if *u == (Tokens{}) {
		return nil // nothing was reported
	}
	return u
}

func (u *Tokens) add(v *Tokens) {
	if v == nil {
		return
	}
	u.Input, u.Output = min(u.Input+v.Input, mostTokens), min(u.Output+v.Output, mostTokens)
	u.CacheRead, u.CacheWrite = min(u.CacheRead+v.CacheRead, mostTokens),
		min(u.CacheWrite+v.CacheWrite, mostTokens)
}

// A wireUsage is claude's usage of a message or a result.
type wireUsage struct {
	Input      float64 `json:"input_tokens"`
	Output     float64 `json:"output_tokens"`
	CacheRead  float64 `json:"cache_read_input_tokens"`
	CacheWrite float64 `json:"cache_creation_input_tokens"`
}

func (w *wireUsage) usage() *Tokens {
	if w == nil {
		return nil
	}
	return newUsage(w.Input, w.Output, w.CacheRead, w.CacheWrite)
}

// used tracks the usage of claude's messages, because a killed run has no result with the
// total. A message comes in several events, each with its usage so far.
func (d *Decoder) used(m *message) {
	u := m.Usage.usage()
	if u == nil || m.ID == "" || len(d.messages) >= mostMessages {
		return
	}
	if d.messages == nil {
		d.messages = map[string]Tokens{}
	}
	d.messages[m.ID] = *u
}

// usage returns the run's usage so far, nil if unknown.
func (d *Decoder) usage() *Tokens {
	if d.stream != StreamClaude {
		return d.work.usage
	}
	var sum Tokens
	for _, u := range d.messages {
		sum.add(&u)
	}
	// The result counts the conversation; only the messages include the usage of sub-agents.
	if r := d.resultUsage; r != nil && r.total() >= sum.total() {
		sum = *r
	}
	if sum == (Tokens{}) {
		return nil
	}
	return &sum
}

func (u *Tokens) total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }
