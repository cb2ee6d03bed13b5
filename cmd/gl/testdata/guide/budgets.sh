FATES=,cost=1.25
. "$GUIDE/project.sh"
