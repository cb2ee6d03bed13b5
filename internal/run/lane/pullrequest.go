package lane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/words"
	"greenlight/internal/run/gh"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A PullRequest is the pull request of the queue's branch, as gl knows it. There is one at a time:
// slices rest on each other, and the queue's branch was tested as a whole.
type PullRequest struct {
	Number int           `json:"number"`
	URL    string        `json:"url"`
	Remote string        `json:"remote"`
	Head   string        `json:"head"`   // the lane's commit that was pushed last
	Title  string        `json:"title"`  // as gl wrote it: one that a person has changed stays
	Slices []Undelivered `json:"slices"` // that it has
	Asked  time.Time     `json:"asked"`  // when its state was asked for last
}

// IDs returns the ids of its slices.
func (p *PullRequest) IDs() []string {
	ids := make([]string, len(p.Slices))
	for i, u := range p.Slices {
		ids[i] = u.Slice
	}
	return ids
}

// Upstream returns the status by what git knows of the remote: a pull request is merged once a
// fetched target contains it. It fetches and writes nothing; gl land does.
func (s Status) Upstream(ctx context.Context, root, target string) Status {
	if s.PullRequest == nil {
		return s
	}
	remote := "refs/remotes/" + s.PullRequest.Remote + "/" + worktree.Short(target)
	for _, ref := range []string{remote, target} {
		if in, err := git.InBranch(ctx, root, s.PullRequest.Head, ref); err == nil && in {
			s.PullRequest = nil
			return s
		}
	}
	return s
}

// askEvery is the shortest time between questions about a pull request's state while slices land.
const askEvery = 5 * time.Minute

// pullRequests keeps the queue's branch in a pull request at the target's remote, one at a time.
type pullRequests struct {
	repo     *worktree.Repo
	history  history
	commands *commands
	events   *events
	file     *file
	environ  []string // of gh
	asked    bool     // a person has asked: see Queue.Asked
	tell     func(format string, a ...any)
}

// propose pushes the commit lane of the queue's branch and opens a pull request for it; reason says
// what is in the way.
func (p *pullRequests) propose(ctx context.Context, lane string) (reason string, err error) {
	if err := p.proposedBefore(ctx); err != nil {
		return "", err
	}
	pr := p.file.PullRequest
	if len(p.file.Undelivered) == 0 && pr == nil {
		return "", p.proposed(p.file.PullRequest)
	}
	remote, err := git.RemoteOf(ctx, p.repo.Git.Common, p.repo.Target())
	if err != nil {
		return "", err
	}
	if remote == "" {
		return "there is no remote to push to: git remote add origin URL", nil
	}
	hub := gh.Repo{Dir: p.repo.Git.Top, Environ: p.environ}
	if pr != nil && (p.asked || pr.Head != lane || now().Sub(pr.Asked) >= askEvery) {
		closed, err := p.askFor(ctx, hub)
		if err != nil || closed && !p.asked {
			return p.trouble(ctx, remote, err)
		}
	}
	pr = p.file.PullRequest
	if len(p.file.Undelivered) == 0 && (pr == nil || pr.Head == lane) {
		return "", p.proposed(pr)
	}
	if p.file.Closed != "" && !p.asked { // a person has decided against it
		return p.trouble(ctx, remote, nil)
	}
	if err := p.push(ctx, remote, lane); err != nil {
		if rejected := new(git.RejectedError); errors.As(err, &rejected) && rejected.Behind {
			return fmt.Sprintf("%s on %s has commits that aren't gl's: merge its pull request and pull, or remove it with git push %s --delete %s",
				p.head(), remote, remote, p.head()), nil
		} else if ctx.Err() != nil {
			return "", err
		}
		return fmt.Sprintf("%v. Try git push %s %s", err, remote, p.head()), nil
	}
	if err := p.open(ctx, hub, remote, lane); err != nil {
		return p.trouble(ctx, remote, err)
	}
	return "", nil
}

// head returns the name of the queue's branch on GitHub.
func (p *pullRequests) head() string { return worktree.Short(p.repo.Queue.Ref()) }

// proposedBefore notes what the target here has by now, after a pull or a merge by hand.
func (p *pullRequests) proposedBefore(ctx context.Context) error {
	target, err := p.history.target(ctx)
	if err != nil {
		return err
	}
	var have []Undelivered
	split := func(list []Undelivered) (rest []Undelivered, err error) {
		for _, u := range list {
			in, err := git.IsAncestor(ctx, p.repo.Git.Common, u.Commit, target)
			if err != nil {
				return nil, err
			}
			if in {
				have = append(have, u)
			} else {
				rest = append(rest, u)
			}
		}
		return rest, nil
	}
	rest, err := split(p.file.Undelivered)
	if err != nil {
		return err
	}
	pr := p.file.PullRequest
	if pr != nil {
		left, err := split(pr.Slices)
		if err != nil {
			return err
		}
		if with := *pr; len(left) == 0 {
			pr = nil
		} else {
			with.Slices, pr = left, &with
		}
	}
	if len(have) == 0 {
		return nil
	}
	p.events.tellDelivered(have, worktree.Short(p.repo.Target()))
	p.file.Undelivered, p.file.PullRequest = rest, pr
	return p.file.save()
}

// proposed notes that everything that has landed is in the pull request, nil for none.
func (p *pullRequests) proposed(pr *PullRequest) error {
	if len(p.file.Undelivered) == 0 && p.file.Reason == "" && p.file.PullRequest == pr {
		return nil
	}
	p.file.Undelivered, p.file.Reason, p.file.Since, p.file.PullRequest = nil, "", nil, pr
	return p.file.save()
}

// askFor asks for the state of the pull request. A merged one has delivered its slices; those of a
// closed one wait for a person.
func (p *pullRequests) askFor(ctx context.Context, hub gh.Repo) (closed bool, err error) {
	pr := *p.file.PullRequest
	is, err := hub.View(ctx, pr.Number)
	if err != nil {
		return false, err
	}
	pr.Asked = now()
	p.file.PullRequest = &pr
	switch is.State {
	case gh.Merged:
		target := worktree.Short(p.repo.Target())
		p.events.tellDelivered(pr.Slices, target+" on "+pr.Remote)
		p.tell("%s is merged: %s. git pull brings it into %s", pr.URL,
			strings.Join(pr.IDs(), ", "), target)
		p.file.PullRequest = nil
	case gh.Closed:
		p.file.Undelivered = append(slices.Clone(pr.Slices), p.file.Undelivered...)
		p.file.PullRequest, p.file.Closed = nil, pr.URL
	}
	return is.State == gh.Closed, p.file.save()
}

// trouble returns why there is no pull request of what has landed, with the command that helps. A
// nil err means that a person closed it.
func (p *pullRequests) trouble(ctx context.Context, remote string, err error) (
	reason string, _ error) {
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return fmt.Sprintf("%s was closed without being merged: gh pr reopen %s, or another one",
			p.file.Closed, p.file.Closed), nil
	case errors.Is(err, gh.ErrMissing):
		return fmt.Sprintf("gh isn't installed (https://cli.github.com); %s is pushed to %s",
			p.head(), remote), nil
	case errors.Is(err, gh.ErrLogin):
		return "gh isn't logged in: gh auth login", nil
	}
	return err.Error(), nil
}

// push moves the remote's branch to the queue's. After a reset, it replaces what was pushed before.
func (p *pullRequests) push(ctx context.Context, remote, lane string) error {
	lease := ""
	if last := p.file.Pushed; last != "" {
		in, err := git.IsAncestor(ctx, p.repo.Git.Common, last, lane)
		if err != nil {
			return err
		}
		if !in {
			lease = last
		}
	}
	if err := p.commands.allowed(ctx); err != nil {
		return err
	}
	if err := git.Push(ctx, p.repo.Git.Common, remote, p.repo.Queue.Ref(), lease); err != nil {
		return err
	}
	p.tell("pushed %s to %s", p.head(), remote)
	p.file.Pushed = lane
	return p.file.save()
}

// open puts the queue's branch into the open pull request, or into a new one. A worker that was
// killed may have opened it.
func (p *pullRequests) open(ctx context.Context, hub gh.Repo, remote, lane string) error {
	target := worktree.Short(p.repo.Target())
	is, err := hub.Find(ctx, p.head(), target)
	if err != nil {
		return err
	}
	pr := PullRequest{Remote: remote, Head: lane, Asked: now()}
	if old := p.file.PullRequest; old != nil {
		pr.Slices, pr.Title = slices.Clone(old.Slices), old.Title
	}
	for _, u := range p.file.Undelivered {
		pr.Slices = slices.DeleteFunc(pr.Slices,
			func(o Undelivered) bool { return o.Slice == u.Slice })
		pr.Slices = append(pr.Slices, u)
	}
	title := pullTitle(pr.IDs())
	body, err := p.pullBody(ctx, pr.Slices)
	if err != nil {
		return err
	}
	if is == nil {
		if err := hub.Create(ctx, p.head(), target, title, body); err != nil {
			return err
		}
		if is, err = hub.Find(ctx, p.head(), target); err != nil {
			return err
		}
		if is == nil {
			return fmt.Errorf("gh pr create has opened no pull request of %s", p.head())
		}
	} else if text := withBody(is.Body, body); text != is.Body ||
		pr.Title == is.Title && title != is.Title {
		if is.Title != pr.Title {
			title = is.Title
		}
		if err := hub.Edit(ctx, is.Number, title, text); err != nil {
			return err
		}
	} else {
		title = is.Title
	}
	pr.Number, pr.URL, pr.Title = is.Number, is.URL, title
	p.events.tellProposed(p.file.Undelivered, pr.URL)
	if len(p.file.Undelivered) > 0 {
		p.tell("%s: in %s", strings.Join(ids(p.file.Undelivered), ", "), pr.URL)
	}
	p.file.Closed = ""
	return p.proposed(&pr)
}

func ids(list []Undelivered) []string { return (&PullRequest{Slices: list}).IDs() }

func pullTitle(ids []string) string {
	const most = 3
	return "Land " + strings.Join(ids[:min(most, len(ids))], ", ") + words.More(len(ids)-most)
}

// gl's part of a pull request's text is between these.
const (
	pullBegin = "<!-- gl: slices -->"
	pullEnd   = "<!-- gl: end -->"
)

// pullBody returns the text about the slices: the commits by which they landed, and what was
// verified.
func (p *pullRequests) pullBody(ctx context.Context, list []Undelivered) (string, error) {
	landed, err := git.Landings(ctx, p.repo.Git.Common, p.repo.Target(), p.repo.Queue.Ref())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(pullBegin + "\n")
	for _, u := range list {
		subject, verified := "Land "+u.Slice, ""
		if i := slices.IndexFunc(landed,
			func(c git.Landed) bool { return c.Commit == u.Commit }); i >= 0 {
			subject, verified = landed[i].Subject, landed[i].Verified
		}
		fmt.Fprintf(&b, "- %s (%s)", asCode(subject), short(u.Commit))
		if verified == "" {
			verified = "no tests were run"
		}
		fmt.Fprintf(&b, ": %s\n", verified)
	}
	b.WriteString(pullEnd + "\n")
	return b.String(), nil
}

// asCode returns a text as code in Markdown, so that GitHub closes no issue and sends no
// notifications. It can't contain the marks by which gl finds its own text.
func asCode(s string) string {
	return "`" + strings.NewReplacer("`", "'", "<!--", "<! --").Replace(s) + "`"
}

// withBody returns a pull request's text with gl's part replaced. What a person has written stays.
func withBody(text, ours string) string {
	before, rest, begun := strings.Cut(text, pullBegin)
	_, after, ended := strings.Cut(rest, pullEnd)
	if !begun || !ended {
		if text == "" {
			return ours
		}
		return strings.TrimRight(text, "\n") + "\n\n" + ours
	}
	return before + strings.TrimSuffix(ours, "\n") + after
}

// Upstream returns the status of the project's queue by what git knows of the remote: see
// Status.Upstream.
func Upstream(ctx context.Context, pr *project.Project) Status {
	s := ReadStatus(pr.Runs.Files.Dir())
	if s.PullRequest == nil {
		return s
	}
	f, err := readFile(pr.Runs.Files.Dir())
	if err != nil {
		return s
	}
	return s.Upstream(ctx, filepath.Clean(pr.Root), f.Target)
}
