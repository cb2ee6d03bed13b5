git init -q -b main
echo 'test ! -e red' >test.sh
cat >TODO.md <<'END'
# To do

- [ ] T001 Customers can sign up
- [ ] T002 Customers get a mail (depends on T001)
END
git add -A
git commit -qm 'A shop'
mkdir "$HOME/bin"
cat >"$HOME/bin/claude" <<'END'
#!/bin/sh
set -e
echo built >"$GL_SLICE.txt"
git add -A
git commit -qm "feat($GL_SLICE): built"
gl state set "$GL_SLICE" status=complete step=complete
END
chmod +x "$HOME/bin/claude"
