exec 3<&0
"$@" </dev/null >&2 3<&- &
program=$!
echo "$program"
{ while read -r _; do :; done <&3; kill -9 "$program"; } 2>/dev/null &
watcher=$!
wait "$program"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
