. "$GUIDE/project.sh"
mkdir "$HOME/bin"
cat >"$HOME/bin/codex" <<'END'
#!/bin/sh
set -e
gl state set "$GL_SLICE" status=implementing step=implementing
echo built >"$GL_SLICE.txt"
git add -A
git commit -qm "feat($GL_SLICE): built"
gl state set "$GL_SLICE" status=complete step=complete
END
cp "$HOME/bin/codex" "$HOME/bin/claude"
chmod +x "$HOME"/bin/*
