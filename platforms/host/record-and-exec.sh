#!/bin/sh
# Writes the identity of its own process to the file $1, then becomes the command $2 with the arguments that follow.
# The process is recorded before it becomes a server, so no server runs without a record, even if the parent is killed at any moment.
if [ -r "/proc/$$/stat" ]; then
  IFS= read -r line <"/proc/$$/stat" && printf '%s\n' "$line" >"$1" || exit 126
else
  line=$(ps -p $$ -o lstart=) && printf '%s %s\n' "$$" "$line" >"$1" || exit 126
fi
shift
exec "$@"
