package lane

import "testing"

// One more run begins beside others if what the largest of them has taken is available, and a tenth
// of all memory, at most 1 GiB.
func TestMemoryNeed(t *testing.T) {
	const giga = 1 << 30
	for name, c := range map[string]struct {
		before, now, total uint64
		runs               int
		short              bool
	}{
		"alone":                    {1, 1, 8 * giga, 0, false},
		"plenty":                   {6 * giga, 5 * giga, 8 * giga, 1, false},
		"one takes most":           {6 * giga, 2 * giga, 8 * giga, 1, true},
		"two take as much":         {6 * giga, 2 * giga, 8 * giga, 2, false},
		"less than a tenth":        {giga, giga / 2, 8 * giga, 4, true},
		"a large machine":          {60 * giga, 3 * giga / 2, 640 * giga, 100, false},
		"others have taken it all": {giga, 100, 8 * giga, 1, true},
	} {
		available := c.before
		m := memoryNeed{free: func() (uint64, uint64, bool) { return available, c.total, true }}
		m.short(0)
		available = c.now
		if _, short := m.short(c.runs); short != c.short {
			t.Errorf("%s: short is %v", name, short)
		}
	}
	m := memoryNeed{free: func() (uint64, uint64, bool) { return 0, 0, false }}
	if _, short := m.short(3); short {
		t.Error("short where the system doesn't say")
	}
}
