package lane

// PlentyOfMemory has the queue begin tests whatever the machine's memory: what else runs there must
// not decide how many run at once.
func (q *Queue) PlentyOfMemory() {
	q.memory = func() (available, total uint64, known bool) { return 0, 0, false }
}
