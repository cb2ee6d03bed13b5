package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Contents describes a checkout by its commit and what differs from it, for comparison with another
// time. Ignored files aren't part of it.
type Contents struct {
	Top  string `json:"top"`
	Head string `json:"head"` // "" before the first commit
	// Changed has, by path from the top, with slashes, a hash of the content, "" for a missing
	// file.
	Changed map[string]string `json:"changed"`
}

// mostChanged bounds what is hashed in a checkout, and markedContents a file that is hashed.
const (
	mostChanged    = 2000
	markedContents = 8 << 20
)

// ReadContents returns the contents of the checkout that dir is in. It writes nothing.
func ReadContents(ctx context.Context, dir string) (*Contents, error) {
	top, err := Root(ctx, dir)
	if err != nil {
		return nil, err
	}
	c := &Contents{Top: top, Changed: map[string]string{}}
	if out, err := run(ctx, top, "rev-parse", "-q", "--verify", "HEAD^{commit}"); err == nil {
		c.Head = strings.TrimSpace(out)
	}
	out, err := status(ctx, top, "--untracked-files=all", "--no-renames", "--", ":/")
	if err != nil {
		return nil, err
	}
	entries := readStatus(out)
	if len(entries) > mostChanged {
		return nil, fmt.Errorf("%s: %d files are changed, and at most %d are compared", top,
			len(entries), mostChanged)
	}
	for _, e := range entries {
		c.Changed[e[3:]] = markOf(filepath.Join(top, filepath.FromSlash(e[3:])))
	}
	return c, nil
}

// Since returns the paths that have changed since before, sorted.
func (c *Contents) Since(ctx context.Context, before *Contents) ([]string, error) {
	var list []string
	for path, was := range before.Changed {
		if markOf(filepath.Join(c.Top, filepath.FromSlash(path))) != was {
			list = append(list, path)
		}
	}
	for path := range c.Changed {
		if _, was := before.Changed[path]; !was {
			list = append(list, path)
		}
	}
	if before.Head != c.Head && before.Head != "" && c.Head != "" {
		all, err := changes(nil, before.Head, c.Head,
			func(args ...string) (string, error) { return run(ctx, c.Top, args...) })
		if err != nil {
			return nil, err
		}
		for _, change := range all {
			if _, was := before.Changed[change.path]; !was {
				list = append(list, change.path)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// markOf returns a mark that differs for different contents; "" for no file.
func markOf(path string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil || info.IsDir():
		return ""
	case info.Mode()&os.ModeSymlink != 0:
		target, _ := os.Readlink(path) // a link that is gone meanwhile is another one
		return "link " + target
	case !info.Mode().IsRegular() || info.Size() > markedContents:
		return fmt.Sprintf("%s %d %d", info.Mode().Type(), info.Size(), info.ModTime().UnixNano())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "unreadable"
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
