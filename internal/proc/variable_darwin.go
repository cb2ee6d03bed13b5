package proc

import "strings"

// HasVariable reports whether a process was started with the variable, "NAME=value", in its environment. Processes of
// other users don't count: their environments can't be read.
func HasVariable(variable string) (bool, error) {
	table, err := ps("-A", "-E", "-ww", "-o", "command=")
	if err != nil {
		return false, err
	}
	for word := range strings.FieldsSeq(table) {
		if word == variable {
			return true, nil
		}
	}
	return false, nil
}
