package proc

// HasVariable reports whether a process of this PID namespace was started with the variable,
// "NAME=value", in its environment. It ignores processes of other users, whose environments
// can't be read.
func HasVariable(variable string) (bool, error) {
	all, err := table()
	if err != nil {
		return false, err
	}
	found, err := carriers([]string{variable}, all)
	return len(found) > 0, err
}
