package hook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"greenlight/internal/durable"
	"greenlight/internal/lane"
	"greenlight/internal/sanitize"
	"greenlight/internal/words"
)

// agentName is the sub-agent's, without its plugin's.
func (s *session) agentName() string {
	if _, name, ok := strings.Cut(s.AgentType, ":"); ok {
		return name
	}
	return s.AgentType
}

var agentID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`) })

// rememberedIn is the file with the commit of what a watched sub-agent found; "" for none.
func (s *session) rememberedIn(runs string) string {
	if !agentID().MatchString(s.AgentID) || !isolation().Watches(s.agentName()) {
		return ""
	}
	return filepath.Join(runs, "agents", s.AgentID)
}

// remember keeps what a sub-agent finds that has a shell and may not change everything.
func (s *session) remember() {
	if !isolation().Watches(s.agentName()) {
		return
	}
	pr, lineage := s.lineage()
	if lineage == nil {
		return
	}
	file := s.rememberedIn(pr.Runs.Dir())
	ctx, cancel := context.WithTimeout(context.Background(), comparing)
	defer cancel()
	repo, err := pr.Worktrees(ctx)
	if err != nil || file == "" {
		return
	}
	if commit, err := repo.Look(ctx, lineage); err == nil && durable.MkdirPrivate(filepath.Dir(file)) == nil {
		_ = durable.WriteFile(file, []byte(commit), 0o600) // without it nothing is compared
	}
}

// strayed tells a sub-agent, once, what it has changed by whatever means and may not change.
func (s *session) strayed() *Block {
	if !isolation().Watches(s.agentName()) {
		return nil
	}
	pr, lineage := s.lineage()
	if lineage == nil {
		return nil
	}
	file := s.rememberedIn(pr.Runs.Dir())
	if file == "" {
		return nil
	}
	before, err := durable.ReadFile(file)
	if err != nil {
		return nil
	}
	_ = os.Remove(file)
	ctx, cancel := context.WithTimeout(context.Background(), comparing)
	defer cancel()
	l, err := lane.Open(ctx, pr, "", nil)
	if err != nil {
		return nil
	}
	changed, err := l.ChangedSince(ctx, lineage, string(before))
	list := isolation().Strayed(s.agentName(), changed)
	if err != nil || len(list) == 0 {
		return nil
	}
	const most = 20
	shown := list[:min(len(list), most)]
	return &Block{Decision: "block", Reason: sanitize.Text(fmt.Sprintf("%s may not change these, and they were changed while it worked: %s%s. Put them back, in the "+
		"project's directory: git restore --source=%s -- %s (remove a file that wasn't there). Then return what you found; what should change there is "+
		"for whoever started you.", s.agentName(), strings.Join(shown, ", "), words.More(len(list)-most), string(before)[:min(len(before), 12)], strings.Join(shown, " ")))}
}
