package attempt

import "encoding/json"

// A document is a record as runs/ has it: one flat object, the same for every version of gl. The
// groups must not share a key: encoding/json drops both without an error. TestDocumentKeys has
// all of them.
type document struct {
	SchemaVersion int `json:"schema_version"`
	*Identity
	*Job
	*Dialog
	*Place
	*Conditions
	*Life
	*Judgement
	*Errand
	*Aftermath
	Landing *Landing `json:"landing,omitempty"`
}

// document returns the record's document, which shares its fields.
func (r *Record) document() *document {
	return &document{r.SchemaVersion, &r.ID, &r.Job, &r.Talk, &r.Place, &r.Conditions, &r.Life,
		&r.Judged, &r.Task, &r.Since, r.Landing}
}

// MarshalJSON implements json.Marshaler. It has a value receiver since json.Marshal(*r) would
// write the groups otherwise.
func (r Record) MarshalJSON() ([]byte, error) { return json.Marshal(r.document()) }

// UnmarshalJSON implements json.Unmarshaler. What no document has, stays: the log's path and the
// environment.
func (r *Record) UnmarshalJSON(data []byte) error {
	fresh := Record{Job: Job{Environ: r.Job.Environ}, Life: Life{Log: r.Life.Log}}
	doc := fresh.document()
	if err := json.Unmarshal(data, doc); err != nil {
		return err
	}
	fresh.take(doc)
	*r = fresh
	return nil
}

// take copies what the record doesn't share with its document, once that was read.
func (r *Record) take(doc *document) {
	r.SchemaVersion, r.Landing = doc.SchemaVersion, doc.Landing
}
