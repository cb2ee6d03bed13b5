package runner

// Restock starts the spares that are missing.
func (p *Process) Restock() { p.restock() }

// SparePIDs are the processes that wait for an attempt.
func (p *Process) SparePIDs() (pids []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.spares {
		pids = append(pids, s.cmd.Process.Pid)
	}
	return pids
}
