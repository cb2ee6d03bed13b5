package cli

import (
	"time"

	"greenlight/internal/core/plan"
)

// clock is a time of day, with its date unless that is today.
func clock(t time.Time) string { return plan.At(t, time.Now(), "15:04:05") }
