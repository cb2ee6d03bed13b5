package slice

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

const (
	claimProcesses = 8
	claimsInEach   = 8
)

var errTaken = errors.New("taken")

// claimOnce is compare-and-set: it claims the slice only if it is unclaimed.
func claimOnce(s *Store, id, token string) error {
	return s.Do(context.Background(), func(tx tracker.Tx) error {
		it, err := tx.Item(id)
		if err != nil {
			return err
		}
		if it.Session != "" || plan.Classify(it.Status) == plan.Active {
			return errTaken
		}
		return tx.Claim(id, token)
	})
}

// claimantChild reads ids, claims each slice eight times concurrently, and prints the tokens
// that won.
func claimantChild(root string) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		id := in.Text()
		var all sync.WaitGroup
		won := make([]string, claimsInEach)
		for i := range claimsInEach {
			all.Add(1)
			go func() {
				defer all.Done()
				token := fmt.Sprintf("%d-%d", os.Getpid(), i)
				if err := claimOnce(Open(root), id, token); err == nil {
					won[i] = token
				} else if !errors.Is(err, errTaken) {
					won[i] = "error:" + strings.ReplaceAll(err.Error(), " ", "_")
				}
			}()
		}
		all.Wait()
		fmt.Println(strings.Join(strings.Fields(strings.Join(won, " ")), " "))
	}
	return in.Err()
}

// Of sixty-four concurrent claims of one slice, from eight processes, exactly one wins.
func TestOneClaimWins(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	rounds := 10
	if testfiles.Long() {
		rounds = 100
	}
	files := map[string]string{"slices/": ""}
	for i := range rounds {
		id := fmt.Sprintf("S-%d", i)
		files["slices/"+id+".md"] = sliceText(id, "pending", "")
	}
	root := project(t, files)
	in, out := startClaimants(t, root)
	for i := range rounds {
		claimRound(t, root, fmt.Sprintf("S-%d", i), in, out)
	}
}

func startClaimants(t *testing.T, root string) (in []io.WriteCloser, out []*bufio.Reader) {
	t.Helper()
	for range claimProcesses {
		cmd := child(t, "claimant", root)
		cmd.Stderr = os.Stderr
		w, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		r, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in, out = append(in, w), append(out, bufio.NewReader(r))
		t.Cleanup(func() {
			w.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	return in, out
}

func claimRound(t *testing.T, root, id string, in []io.WriteCloser, out []*bufio.Reader) {
	t.Helper()
	for _, w := range in {
		if _, err := io.WriteString(w, id+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	var won []string
	for _, r := range out {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		won = append(won, strings.Fields(line)...)
	}
	if len(won) != 1 {
		t.Fatalf("%s was won by %v", id, won)
	}
	for _, it := range load(t, root).Items {
		if it.ID == id && (it.Session != won[0] || it.Status != "in_progress") {
			t.Errorf("%s won, and the slice has %s of %s", won[0], it.Status, it.Session)
		}
	}
}
