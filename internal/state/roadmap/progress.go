package roadmap

import (
	"cmp"
	"strings"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/core/plan"
)

// A Document is the output of gl roadmap --json.
type Document struct {
	SchemaVersion int    `json:"schema_version"`
	File          string `json:"file"` // relative to the root
	Text          string `json:"text"` // all of ROADMAP.md
	// those of the roadmap in its order, then those that only slices name
	Milestones []Progress `json:"milestones"`
}

// Progress is the progress of a milestone.
type Progress struct {
	Name   *string `json:"name"`   // null for the slices without a milestone
	Status *string `json:"status"` // the word in brackets in the roadmap's heading
	Done   int     `json:"done" jsonschema:"minimum=0"`
	Total  int     `json:"total" jsonschema:"minimum=0"`
}

// Document returns the roadmap with the progress of its milestones.
func (r *Roadmap) Document(p *plan.Plan) Document {
	return Document{SchemaVersion: 1, File: r.File, Text: strings.ToValidUTF8(r.Text, "\ufffd"), Milestones: r.Progress(p)}
}

// Progress counts the items of each milestone: those of the roadmap in its order, then those
// that only items name. An item that names no milestone belongs to the one whose table in the
// roadmap lists it.
func (r *Roadmap) Progress(p *plan.Plan) []Progress {
	list := []Progress{}
	at := map[string]int{} // by name, in list
	for _, m := range r.Milestones {
		if _, twice := at[m.Name]; !twice {
			at[m.Name] = len(list)
			list = append(list, Progress{Name: jsondoc.OrNull(m.Name), Status: jsondoc.OrNull(m.Status)})
		}
	}
	for i := range p.States {
		st := &p.States[i]
		name := cmp.Or(st.Milestone, r.Rows[st.ID].Milestone)
		n, ok := at[name]
		if !ok {
			n = len(list)
			at[name] = n
			list = append(list, Progress{Name: jsondoc.OrNull(name)})
		}
		list[n].Total++
		if st.Class == plan.Done {
			list[n].Done++
		}
	}
	return list
}
