. "$GUIDE/project.sh"
gl slice S-1
