# A project with three slices, tests and a commit, whose agent is the built-in one. Pages source it.
git init -q -b main
gl init --no-agent
echo 'test ! -e red' >test.sh
cp test.sh settings.example
gl settings set test.command 'sh test.sh'
gl settings set parallel.agent "rehearsal:here,step=1ms${FATES-}"
gl add-slice 'Customers can sign up'
gl add-slice 'Customers get a mail'
gl add-slice 'Search the catalog'
git add -A
git commit -qm 'Start the shop'
