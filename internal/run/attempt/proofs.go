package attempt

// Proofs are the files of runs/ with what gl has found out about the tests and the work on a slice, beside the
// records: suite.json, and the directories vouched, handed, tests and withdrawn.
type Proofs struct{ dir string }
