package proc

import (
	"errors"
	"strconv"
	"strings"
)

// The parsers of both systems' process tables are here, so that their tests run on either.

// parseStat reads /proc/PID/stat: "pid (name) state ppid pgrp …". The name is the program's choice and may contain
// spaces, newlines and parentheses, so the fields count from its last closing one. Fields are numbered from 1 in
// proc_pid_stat(5).
func parseStat(stat string) (g glimpse, group int, err error) {
	const state, pgrp, threads, start, first = 3, 5, 20, 22, 3
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= start-first {
		return glimpse{}, 0, errors.New("malformed process status")
	}
	group, err = strconv.Atoi(fields[pgrp-first])
	if err != nil {
		return glimpse{}, 0, errors.New("malformed process group")
	}
	switch fields[state-first] {
	case "Z":
		// A main thread that ended before the others is shown as a zombie, too, but then there are others.
		g.zombie = fields[threads-first] == "1" || fields[threads-first] == "0"
	case "X", "x":
		g.zombie = true
	}
	g.start = fields[start-first]
	return g, group, nil
}

// parsePS reads one line of `ps -o state= -o lstart=`: "Ss+  Mon Jan  5 10:00:00 2026". A zombie's may lack the time.
func parsePS(line string) (glimpse, error) {
	fields := strings.Fields(line)
	switch {
	case len(fields) == 6:
		return glimpse{start: strings.Join(fields[1:], " "), zombie: fields[0][0] == 'Z'}, nil
	case len(fields) > 0 && fields[0][0] == 'Z':
		return glimpse{zombie: true}, nil
	}
	return glimpse{}, errors.New("malformed process status")
}

// parseGroups reads `ps -A -o pgid= -o state=` and says whether the group has a member that isn't a zombie.
func parseGroups(table string, group int) bool {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == strconv.Itoa(group) && fields[1][0] != 'Z' {
			return true
		}
	}
	return false
}
