package hands

import (
	"context"
	"errors"
	"os"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
)

// carryOut does what the machine wants. What takes long is only begun.
func (w *worker) carryOut(ctx context.Context, effect remote.WorkerEffect) {
	switch e := effect.(type) {
	case remote.PersistWork:
		w.persist(ctx, w.place.files.lease(e.Work.Fence, ".json"), e.Work)
	case remote.PersistMark:
		w.persist(ctx, w.place.files.path("mark.json"), e.Mark)
	case remote.SendToCoordinator:
		w.sender.send(e.Message)
	case remote.SendChunk:
		w.sendChunk(e)
	case remote.Trim:
		if log := w.log(e.Fence); log != nil {
			log.Trim(e.Offset)
		}
	case remote.Prepare:
		w.prepare(e)
	case remote.Launch:
		w.launch(e)
	case remote.Tell:
		w.tellProgram(e)
	case remote.Halt:
		w.halt(e)
	case remote.Reap:
		w.reap(e)
	case remote.Push:
		w.push(e)
	case remote.Reply:
		w.place.reply(e.Key, e.Answer)
	case remote.Remove:
		w.remove(e)
	case remote.Depart:
		w.departs = true
	}
}

// persist writes durably. Nothing that follows may be done before that has succeeded, so it goes
// on trying: a full disk has room again one day.
func (w *worker) persist(ctx context.Context, path string, v any) {
	for told := false; ; told = true {
		err := durable.WriteJSON(path, v)
		if err == nil || ctx.Err() != nil {
			return
		}
		if !told {
			w.o.Print("can't go on until this can be written: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// log returns the log of a lease, nil if it can't be opened.
func (w *worker) log(f remote.Fence) *output {
	if r := w.runs[f]; r != nil {
		return r.log
	}
	if log := w.logs[f]; log != nil {
		return log
	}
	log, err := openOutput(w.place.files.lease(f, ".log"))
	if err != nil {
		w.place.print(f, "its log can't be read: "+err.Error())
		return nil
	}
	w.logs[f] = log
	return log
}

// tellLog tells the machine what there is of a log from before this start.
func (w *worker) tellLog(f remote.Fence) {
	if log := w.log(f); log != nil {
		size, start := log.Size()
		w.place.tell(remote.Logged{Fence: f, Start: start, Size: size})
	}
}

func (w *worker) sendChunk(e remote.SendChunk) {
	log := w.log(e.Fence)
	if log == nil {
		return
	}
	data, err := log.Read(e.Offset, min(e.Size, remote.MaxChunk))
	if err != nil {
		w.place.print(e.Fence, "its log can't be read: "+err.Error())
		return
	}
	w.sender.send(&remote.Chunk{Fence: e.Fence, Offset: e.Offset, Data: data})
}

// run returns the run of a lease, or begins one. A log that can't be made is the end of the job.
func (w *worker) run(f remote.Fence, job *remote.Job) *run {
	if r := w.runs[f]; r != nil {
		return r
	}
	log := w.log(f)
	if log == nil {
		w.place.tell(remote.Finished{Fence: f, Result: remote.Result{How: remote.Failed,
			Reason: "the worker can't write its log"}})
		return nil
	}
	delete(w.logs, f)
	r := newRun(w.place, f, job, log)
	w.runs[f] = r
	return r
}

func (w *worker) prepare(e remote.Prepare) {
	if r := w.run(e.Fence, &e.Job); r != nil {
		w.place.print(e.Fence, "preparing "+nameOf(&e.Job))
		go r.prepare()
	}
}

func (w *worker) launch(e remote.Launch) {
	if r := w.run(e.Fence, &e.Job); r != nil {
		go r.launch()
	}
}

func (w *worker) tellProgram(e remote.Tell) {
	if r := w.runs[e.Fence]; r != nil {
		r.say(e.Line)
		return
	}
	w.place.tell(remote.Told{Fence: e.Fence, Number: e.Number, Failed: "the program doesn't run"})
}

func (w *worker) halt(e remote.Halt) {
	if r := w.runs[e.Fence]; r != nil {
		r.halt(e.Halting)
	}
}

// reap ends what ran before this start.
func (w *worker) reap(e remote.Reap) {
	r := w.run(e.Fence, &e.Job)
	if r == nil {
		return
	}
	go func() {
		res := remote.Result{How: remote.Crashed, ExitCode: -1,
			Reason: "gl worker was ended while the program ran"}
		if err := w.place.endEarlier(e.Fence); err != nil {
			res.Leftover = remote.Text(err.Error())
		}
		r.finish(res)
	}()
}

func (w *worker) push(e remote.Push) {
	go pushWork(w.place, e.Fence, &e.Job)
}

// remove removes what is left of a lease.
func (w *worker) remove(e remote.Remove) {
	log := w.log(e.Fence)
	delete(w.runs, e.Fence)
	delete(w.logs, e.Fence)
	w.removals.Add(1)
	go func() {
		defer w.removals.Done()
		if err := w.place.remove(e, log); err != nil {
			w.place.print(e.Fence, "it can't be removed, and stays until the next start: "+err.Error())
			return
		}
		w.place.tell(remote.Removed{Fence: e.Fence})
	}()
}

const (
	removeTries = 10
	removePause = time.Second
)

// remove removes a lease's log, with e.Worktree its lineage's worktree, and its file last. A
// service that setup left in the worktree may end only now.
func (p *place) remove(e remote.Remove, log *output) (err error) {
	if log != nil {
		err = log.Remove()
	}
	err = errors.Join(err, p.repo.forget(p.ctx, e.Fence))
	if e.Worktree {
		var work remote.Work
		if read := durable.ReadJSON(p.files.lease(e.Fence, ".json"), &work); read == nil {
			err = errors.Join(err, p.discard(&work.Job))
		} else if !errors.Is(read, os.ErrNotExist) {
			err = errors.Join(err, read)
		}
	}
	if err != nil {
		return err
	}
	return p.files.remove(e.Fence)
}

func (p *place) discard(job *remote.Job) error {
	for try := 1; ; try++ {
		err := p.repo.discard(p.ctx, job)
		if !errors.Is(err, durable.ErrLocked) || try == removeTries {
			return err
		}
		select {
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-time.After(removePause):
		}
	}
}
