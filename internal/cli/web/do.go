package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"greenlight/internal/base/httpguard"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/show/attempttext"
)

// A request is what a person asks for with a button.
type request struct {
	id, text string
	comments []comment
}

// A comment is what a person wrote about a line of a slice's work.
type comment struct{ at, text string }

// A deed is what a button does. It returns what to tell the person.
type deed func(ctx context.Context, s *Server, pr *project.Project, r request) (string, error)

// deeds are the actions on a slice, by the name in their address.
func deeds() map[string]deed {
	return map[string]deed{
		"accept": func(ctx context.Context, s *Server, pr *project.Project,
			r request) (string, error) {
			return accept(ctx, s, pr, r, false)
		},
		"accept-tests": func(ctx context.Context, s *Server, pr *project.Project,
			r request) (string, error) {
			return accept(ctx, s, pr, r, true)
		},
		"reject": reject,
		"answer": answer,
		"retry": func(ctx context.Context, _ *Server, pr *project.Project,
			r request) (string, error) {
			return retry(ctx, pr, r.id, r.text, false)
		},
		"fresh": func(ctx context.Context, _ *Server, pr *project.Project,
			r request) (string, error) {
			return retry(ctx, pr, r.id, r.text, true)
		},
		"resume": resume,
		"say":    say,
		"stop":   stop,
	}
}

// projectDeeds are the actions on what waits and isn't about a slice. text has their argument.
func projectDeeds() map[string]deed {
	return map[string]deed{"land": land, "lift": lift, "budget": budget}
}

// deedTime is how long an action may take. It runs to its end even if the person closes the page.
const deedTime = 2 * time.Minute

// do runs an action and leads back to the page.
func (s *Server) do(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), deedTime)
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(deedTime))
	asked := requestOf(r.PostForm)
	said, err := s.act(ctx, r.PathValue("action"), asked, r.PostForm.Get("seen"))
	s.hub.refreshNow(ctx)
	code := http.StatusOK
	if err != nil {
		code, said = http.StatusUnprocessableEntity, err.Error()
		if errors.As(err, new(*ops.ChangedError)) {
			code = http.StatusConflict
		}
	}
	said = sanitize.Text(said)
	if wantsJSON(r) {
		key := "done"
		if err != nil {
			key = "error"
		}
		writeJSON(w, code, map[string]string{key: said})
		return
	}
	if err != nil {
		said += sanitize.Text(asked.wrote())
	}
	base := httpguard.Of(r).Base
	back := base
	if id := r.PostForm.Get("id"); err != nil && s.known(id) != nil || r.PostForm.Get("back") == "slice" {
		back = base + "slice/" + url.PathEscape(id)
	}
	http.Redirect(w, r, back+"?note="+s.notes.put(said, err != nil), http.StatusSeeOther)
}

// requestOf reads a form. Comments without words are left out.
func requestOf(form url.Values) request {
	plain := func(text string) string {
		return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	}
	r := request{id: form.Get("id"), text: plain(form.Get("text"))}
	for i, at := range form["at"] {
		if i < len(form["comment"]) && plain(form["comment"][i]) != "" {
			r.comments = append(r.comments, comment{at, plain(form["comment"][i])})
		}
	}
	return r
}

// wrote returns what the person wrote, for the page that says that nothing was done: the form there
// is empty.
func (r *request) wrote() string {
	var b strings.Builder
	if r.text != "" {
		b.WriteString("\nYou wrote: " + r.text)
	}
	for _, c := range r.comments {
		b.WriteString("\nYou wrote on " + c.at + ": " + c.text)
	}
	return b.String()
}

func (s *Server) act(ctx context.Context, action string, r request, shown string) (string, error) {
	pr, err := s.Open()
	if err != nil {
		return "", err
	}
	if err := s.trusted(ctx, pr); err != nil {
		return "", err
	}
	if do := projectDeeds()[action]; do != nil {
		if err := stillWaits(pr, shown); err != nil {
			return "", err
		}
		return do(ctx, s, pr, r)
	}
	do := deeds()[action]
	if do == nil {
		return "", fmt.Errorf("there is no action %q", action)
	}
	if s.known(r.id) == nil {
		return "", fmt.Errorf("there is no slice %q", r.id)
	}
	var seen ops.Seen
	if err := json.Unmarshal([]byte(shown), &seen); err != nil {
		return "", errors.New("the form doesn't say what it was about: load the page again")
	}
	ctx = ops.Showing(ctx, seen)
	if err := ops.SameWork(ctx, pr, r.id); err != nil {
		return "", err
	}
	return do(ctx, s, pr, r)
}

// trusted refuses to act in a project whose commands this person hasn't allowed.
func (s *Server) trusted(ctx context.Context, pr *project.Project) error {
	commands, err := pr.MustAllow().All(ctx)
	if err != nil {
		return err
	}
	return s.Trust.Check(pr.Root, commands)
}

// ofProject reports whether the decision isn't about a slice's work.
func ofProject(p *ops.Pending) bool { return p.ID == "" || p.Kind == ops.PendingBudget }

// stillWaits compares what waits for a person, and isn't about a slice, with what they were shown.
func stillWaits(pr *project.Project, shown string) error {
	list, err := ops.ToReview(pr, time.Now())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(p ops.Pending) bool {
		return ofProject(&p) && p.Why == shown
	}) {
		return nil
	}
	return &ops.ChangedError{ID: "This", What: "it no longer waits for you as it did"}
}

func accept(ctx context.Context, s *Server, pr *project.Project, r request,
	tests bool) (string, error) {
	id := r.id
	built, err := ops.Built(ctx, pr, id)
	if err != nil {
		return "", err
	}
	text, err := oneLine(r.text, "")
	if err != nil && r.text != "" {
		return "", err
	}
	a, err := ops.Accept(ctx, pr, id, built, ops.Approval{Tests: tests, Text: text})
	switch {
	case errors.Is(err, ops.ErrNothingToDo):
		return id + " is complete already", nil
	case err != nil:
		return "", err
	case a.Queued == nil:
		return id + " is complete", nil
	}
	if err := s.workQueue(pr, false); err != nil {
		return "", err
	}
	return id + " is accepted, and is merged once its tests pass", nil
}

// workQueue has the merge queue worked: by the run, if there is one, else by a process of its own.
func (s *Server) workQueue(pr *project.Project, asked bool) error {
	if leader, err := pr.Runs.Control.Leader(); err != nil || leader != "" && !asked {
		return err
	}
	return runner.StartQueueWorker(s.Self, pr.Root, s.Environ, asked)
}

// oneLine returns a text that may have been written on several lines as one.
func oneLine(text, what string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return "", errors.New(what)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", errors.New("the text must not have control characters")
	}
	return text, nil
}

// reject sends a slice back, with words about all of it, about lines, or both.
func reject(ctx context.Context, _ *Server, pr *project.Project, r request) (string, error) {
	var comments []attempt.Comment
	for _, c := range r.comments {
		file, line, ok := ops.ParsePlace(c.at)
		text, err := oneLine(c.text, "")
		if !ok || err != nil {
			return "", fmt.Errorf("the comment on %q can't be kept: it must be text on a line", c.at)
		}
		one, err := ops.Comment(ctx, pr, r.id, file, line, text)
		if err != nil {
			return "", err
		}
		comments = append(comments, one)
	}
	text, err := oneLine(r.text, "say what is wrong with "+r.id)
	if err != nil && (r.text != "" || len(comments) == 0) {
		return "", err
	}
	if err := ops.Reject(ctx, pr, r.id, text, comments, false); err != nil {
		return "", err
	}
	with := ""
	if len(comments) > 0 {
		with = " with " + words.Count(len(comments), "comment")
	}
	return fmt.Sprintf("%s is sent back to its agent%s, and continues with %s", r.id, with,
		ops.NextRun(pr)), nil
}

func answer(ctx context.Context, _ *Server, pr *project.Project, r request) (string, error) {
	text, err := oneLine(r.text, "write an answer for "+r.id)
	if err != nil {
		return "", err
	}
	a, err := ops.Answer(ctx, pr, r.id, text)
	if err != nil {
		return "", err
	}
	if a.Session != "" {
		return r.id + " is answered; session " + a.Session + " has it", nil
	}
	return r.id + " is answered, and continues with " + ops.NextRun(pr), nil
}

// retry puts a slice back. What the person wrote is kept for its next agent, before the slice is
// pending: a run launches it at once.
func retry(ctx context.Context, pr *project.Project, id, text string, fresh bool) (string, error) {
	if text != "" {
		if !ops.Sayable(text) {
			return "", errors.New("the text must not have control characters")
		}
		if _, err := ops.Say(ctx, pr, id, text, time.Now()); err != nil {
			return "", err
		}
	}
	if _, err := scheduler.Reconcile(ctx, pr); err != nil {
		return "", err
	}
	if fresh {
		if _, err := ops.Fresh(ctx, pr, id); err != nil {
			return "", err
		}
	}
	_, err := ops.Retry(ctx, pr, id, fresh)
	if err != nil && !errors.Is(err, ops.ErrNothingToDo) {
		return "", err
	}
	err = errors.Join(pr.Tracker.Refresh(ctx), ops.LiftLogin(pr))
	return id + " is pending again, and continues with " + ops.NextRun(pr), err
}

func resume(ctx context.Context, _ *Server, pr *project.Project, r request) (string, error) {
	h, err := ops.FindHandoff(pr, r.id)
	if err != nil {
		return "", err
	}
	return r.id + " is pending again, and continues with " + ops.NextRun(pr), h.Resume(ctx)
}

func say(ctx context.Context, _ *Server, pr *project.Project, r request) (string, error) {
	if !ops.Sayable(r.text) {
		return "", fmt.Errorf("say %s something, without control characters", r.id)
	}
	said, err := ops.Say(ctx, pr, r.id, r.text, time.Now())
	if err != nil {
		return "", err
	}
	how, err := said.Arrive(ctx)
	if err == nil && how == ops.Dropped {
		err = errors.New(said.Told(how))
	}
	return said.Told(how), err
}

func stop(ctx context.Context, _ *Server, pr *project.Project, r request) (string, error) {
	end, err := ops.PrepareStop(ctx, pr, []string{r.id}, false)
	if err != nil {
		return "", err
	}
	told := r.id + " had ended already"
	err = end.End(ctx, func(one ops.Stopped) {
		if one.Final != nil {
			told = attempttext.Stopped(one.Final)
		}
	})
	return told, errors.Join(end.Err, err)
}

func land(_ context.Context, s *Server, pr *project.Project, _ request) (string, error) {
	return "Merging what is tested. What can't be merged yet stays on this page, with the reason", s.workQueue(pr, true)
}

func lift(ctx context.Context, _ *Server, pr *project.Project, _ request) (string, error) {
	lifted, err := ops.LiftHolds(ctx, pr, nil, time.Now())
	if err != nil {
		return "", err
	}
	texts := []string{"Nothing is held"}
	for i, h := range lifted {
		if i == 0 {
			texts = nil
		}
		texts = append(texts, "Lifted: "+h.Lifted(time.Now()))
	}
	return strings.Join(texts, "; "), nil
}

// budget sets what a slice, a run or a day may cost; the id of its form says which.
func budget(ctx context.Context, s *Server, pr *project.Project, r request) (string, error) {
	usd, err := strconv.ParseFloat(strings.TrimPrefix(r.text, "$"), 64)
	if err != nil || usd <= 0 || usd > 1e6 {
		return "", fmt.Errorf("%q isn't an amount of dollars: expected 20 or 2.50", r.text)
	}
	if !slices.Contains([]string{"slice", "run", "day"}, r.id) {
		return "", fmt.Errorf("%q has no budget", r.id)
	}
	return fmt.Sprintf("The budget of a %s is $%.2f now", r.id, usd),
		ops.SetBudget(ctx, pr, s.Trust, r.id, usd)
}

// notes keep what actions did until the page that follows is shown. Its address names the note:
// another page of the session may be loaded before.
type notes struct {
	mu   sync.Mutex
	last int
	list map[string]note
}

type note struct {
	text string
	bad  bool
}

// mostNotes bounds the notes whose pages were never shown.
const mostNotes = 100

func (n *notes) put(text string, bad bool) (name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.list == nil || len(n.list) >= mostNotes {
		n.list = map[string]note{}
	}
	n.last++
	name = strconv.Itoa(n.last)
	n.list[name] = note{text, bad}
	return name
}

func (n *notes) take(name string) (text string, bad bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.list[name]
	delete(n.list, name)
	return one.text, one.bad
}

// canDecide reports whether the page can act on a slice of the project, or only say which command
// does.
func canDecide(pr *project.Project, st *plan.State) bool {
	return st.HeldBack || pr.Slices != nil && (st.Next == nil || st.OverBudget)
}
