package proc

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// The parsers for both systems' process tables are here so that their tests run on either.

// An entry is a line of the process table.
type entry struct {
	glimpse
	pid, parent, group, session int
	name                        string // of its program, as the kernel stores it
}

// parseStat parses /proc/PID/stat: "pid (name) state ppid pgrp session …". The program chooses
// the name, which may contain spaces, newlines and parentheses, so fields are counted from the
// last closing parenthesis. proc_pid_stat(5) numbers them from 1.
func parseStat(stat string) (e entry, err error) {
	const state, ppid, pgrp, session, threads, start, first = 3, 4, 5, 6, 20, 22, 3
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= start-first {
		return entry{}, errors.New("malformed process status")
	}
	var bad [3]error
	e.parent, bad[0] = strconv.Atoi(fields[ppid-first])
	e.group, bad[1] = strconv.Atoi(fields[pgrp-first])
	e.session, bad[2] = strconv.Atoi(fields[session-first])
	if bad != [3]error{} {
		return entry{}, errors.New("malformed process status: no numbers")
	}
	if _, name, ok := strings.Cut(stat[:max(end, 0)], "("); ok {
		e.name = name
	}
	switch fields[state-first] {
	case "Z":
		// A main thread that ended before the others is shown as a zombie, too, but then there
		// are others.
		e.zombie = fields[threads-first] == "1" || fields[threads-first] == "0"
	case "X", "x":
		e.zombie = true
	}
	e.start = fields[start-first]
	return e, nil
}

// parsePS parses one line of `ps -o state= -o lstart=`: "Ss+ Mon Jan 5 10:00:00 2026". A zombie
// may lack the time.
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

// parseTable parses `ps -A -o pid= -o ppid= -o pgid= -o state= -o lstart= -o comm=`. It has no
// session numbers: the group is used instead.
func parseTable(table string) (all []entry) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		var e entry
		bad := false
		for i, to := range []*int{&e.pid, &e.parent, &e.group} {
			n, err := strconv.Atoi(fields[i])
			*to, bad = n, bad || err != nil
		}
		if bad {
			continue
		}
		e.session, e.zombie = e.group, fields[3][0] == 'Z'
		if len(fields) >= 9 && !e.zombie {
			e.start = strings.Join(fields[4:9], " ")
		}
		if len(fields) > 9 {
			e.name = fields[9][strings.LastIndexByte(fields[9], '/')+1:]
		}
		all = append(all, e)
	}
	return all
}

// parseGroups parses `ps -A -o pgid= -o state=` and reports whether the group has a member that
// isn't a zombie.
func parseGroups(table string, group int) bool {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == strconv.Itoa(group) && fields[1][0] != 'Z' {
			return true
		}
	}
	return false
}

// parseCarriers reads lines of a pid, a command line and an environment, as macOS's ps prints them,
// and returns those of the processes that have one of the variables, "NAME=value".
func parseCarriers(list string, variables []string, among []entry) map[int]bool {
	asked := map[int]bool{}
	for _, e := range among {
		asked[e.pid] = true
	}
	found := map[int]bool{}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil && asked[pid] {
			if slices.ContainsFunc(fields[1:], func(word string) bool {
				return slices.Contains(variables, word)
			}) {
				found[pid] = true
			}
		}
	}
	return found
}
