package hook

import (
	"fmt"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/plan"
)

// stop asks, once for each claim, about a slice that the session leaves in progress, and about
// tests that it has changed. It returns nil to let the session stop.
func (s *session) stop() *Block {
	if s.StopActive || s.AgentID != "" || s.Event != "Stop" || s.Background {
		return nil
	}
	if b := s.touched(false); b != nil {
		return b
	}
	pr := s.project()
	if pr == nil || !managed(pr) { // other systems have no claims
		return nil
	}
	p, err := pr.Plan(s.now, pr.Options())
	if err != nil {
		return nil
	}
	for _, st := range s.held(pr, p) {
		if !leftInProgress(st) {
			continue
		}
		token := st.Session
		if token == "" && st.Attempt != nil {
			token = st.Attempt.Token
		}
		if first, err := pr.Runs.Claims.RemindOnce(st.ID, token); err != nil || !first {
			continue
		}
		return &Block{Decision: "block", Reason: sanitize.Text(question(st))}
	}
	return nil
}

// subagentStop tells a sub-agent, once, which files it changed without permission. It returns
// nil to let it end.
func (s *session) subagentStop() *Block {
	if s.StopActive {
		return nil
	}
	var parts []string
	if b := s.touched(false); b != nil {
		parts = append(parts, b.Reason)
	}
	if text := s.strayed(); text != "" {
		parts = append(parts, sanitize.Text(text))
	}
	if len(parts) == 0 {
		return nil
	}
	return &Block{Decision: "block", Reason: strings.Join(parts, "\n\n")}
}

// leftInProgress reports whether the outcome of a claimed slice hasn't been recorded yet.
func leftInProgress(st *plan.State) bool {
	class := plan.Classify(st.Status)
	return class != plan.Done && class != plan.Failed && class != plan.Waiting &&
		st.WaitingFor == "" && !st.Paused
}

func question(st *plan.State) string {
	return fmt.Sprintf("%[1]s is still in progress (%[2]s), and this session has claimed it. Continue with it, or record where it stands: "+
		"gl state set %[1]s status=complete step=complete tests=N if everything is done and committed; "+
		"gl state set %[1]s waiting_for=\"what is needed\" if a person is needed; gl state release %[1]s to give it back. "+
		"If you are only waiting for an answer, stop again: this message appears once.", st.ID,
		st.Progress())
}
