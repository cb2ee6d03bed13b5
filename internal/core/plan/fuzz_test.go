package plan

import "testing"

func FuzzParseDayTime(f *testing.F) {
	for _, text := range []string{"22:00-07:00", "09:00-17:30", " 8:00 - 24:00 ", "24:00-00:00", "9-17", "-", "25:00-26:00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDayTime(text)
		if err == nil && (d.From < 0 || d.From >= minutesOfDay || d.To < 0 || d.To >= minutesOfDay || d.From == d.To) {
			t.Fatalf("%q became %+v", text, d)
		}
	})
}
