package ops

import "testing"

func TestNotesStay(t *testing.T) {
	facts := handoffHeader + "# S-1\n\n    ## Notes\n\n"
	tests := []struct{ name, old, want string }{
		{"none", "", ""},
		{"blank", "\n \n", ""},
		{"ours, without notes", facts + handoffNotes, ""},
		{"ours", facts + handoffNotes + "a\n## Notes\nb", "a\n## Notes\nb"},
		{"ours, its section taken out", facts, ""},
		{"a person's", "# Mine\n\n## Notes\nx\n", "\n# Mine\n\n## Notes\nx\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := notesOf(tt.old)
			if got != tt.want {
				t.Errorf("%q", got)
			}
			if again := notesOf(facts + handoffNotes + got); again != got {
				t.Errorf("the second time: %q", again)
			}
		})
	}
}
