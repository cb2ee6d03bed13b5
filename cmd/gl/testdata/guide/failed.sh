FATES=,fail=S-2#1
. "$GUIDE/project.sh"
gl slice --watch || true
