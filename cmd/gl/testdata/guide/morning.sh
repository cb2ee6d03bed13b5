FATES=,park=S-2#1+S-3
. "$GUIDE/project.sh"
gl slice S-2 S-3 || true
gl state set S-1 status=implementing step=implementing waiting_for='Is a budget per month or per year?' waiting_kind=question
