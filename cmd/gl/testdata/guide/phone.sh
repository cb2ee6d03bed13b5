. "$GUIDE/project.sh"
