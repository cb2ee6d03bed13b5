package remote

// Work is what a worker has on disk about one lease. It is stored as JSON; only the machine changes
// it.
type Work struct {
	Fence
	Serial    int64   `json:"serial"`
	Job       Job     `json:"job"`
	Stage     Stage   `json:"stage"`
	Withdrawn bool    `json:"withdrawn,omitempty"`
	Result    *Result `json:"result,omitempty"` // from stage Ended on
	Pushed    bool    `json:"pushed,omitempty"` // what is to be offered is in the exchange
	Keep      bool    `json:"keep,omitempty"`   // of stage Settled: Confirm.Keep
}

// Mark is what a worker has on disk besides its leases.
type Mark struct {
	Serial int64 `json:"serial"` // the highest of the placements it has seen
}
