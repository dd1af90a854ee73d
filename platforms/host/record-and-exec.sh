#!/bin/sh
# Writes the identity of its own process to the file $1, then becomes the command $2 with the arguments that follow.
# The process is on record before it is a server: wherever its parent is killed, no server runs that is not on record.
if [ -r "/proc/$$/stat" ]; then
  IFS= read -r line <"/proc/$$/stat" && printf '%s\n' "$line" >"$1" || exit 126
else
  line=$(ps -p $$ -o lstart=) && printf '%s %s\n' "$$" "$line" >"$1" || exit 126
fi
shift
exec "$@"
