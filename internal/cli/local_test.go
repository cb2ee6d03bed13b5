package cli

import (
	"testing"

	"greenlight/internal/cli/cmdutil"
)

func TestUTF8Locale(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, false}, {[]string{"LANG=de_DE.UTF-8"}, true}, {[]string{"LANG=C.utf8"}, true}, {[]string{"LANG=de_DE.UTF-8", "LC_ALL=C"}, false},
		{[]string{"LC_CTYPE=en_US.UTF-8", "LANG=C"}, true}, {[]string{"LC_ALL=", "LANG=en_US.UTF-8"}, true},
	} {
		if got := isUTF8(&cmdutil.App{Environ: c.environ}); got != c.want {
			t.Errorf("%v: %v", c.environ, got)
		}
	}
}
