package hook

import (
	"os"
	"testing"

	"greenlight/internal/base/testfiles"
)

func TestMain(m *testing.M) { os.Exit(testfiles.Run(m)) }
