. "$GUIDE/project.sh"
mkdir "$HOME/bin"
cat >"$HOME/bin/ask-model" <<'END'
#!/bin/sh
cat >/dev/null
printf 'diff --git a/shop.txt b/shop.txt\nnew file mode 100644\n--- /dev/null\n+++ b/shop.txt\n@@ -0,0 +1 @@\n+sign up here\n'
END
chmod +x "$HOME/bin/ask-model"
