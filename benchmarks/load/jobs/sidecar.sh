# Script of a runner's sidecar. Each time the runner asks, it runs a load generator that is not in the servers' image.
# The runner and the sidecar wait on two named pipes in a shared directory, so that neither uses CPU while it waits.
#
# Environment:
#   EXCHANGE                  shared directory
#   SETUP                     command that runs once before the first request
#   PROGRAM                   command that runs the load generator; its arguments follow
#   RESULT                    file that the load generator writes, appended to its output; empty: no such file
#   TOOL_USER, TOOL_PASSWORD  user that is created for the run; unset if the servers require no password
# The arguments of each run are lines of $EXCHANGE/words, and contain no secret.
set -u
cd "$EXCHANGE"
until [ -p answer ]; do sleep 0.1; done
eval "$SETUP" > out 2>&1 || { cat out >&2; exit 1; }
times > times; nproc > cores
echo ready > answer
while read -r word < ask && [ "$word" != end ]; do
  set --
  while IFS= read -r word; do
    [ "$word" != @CREDENTIALS@ ] || word=$TOOL_USER:$TOOL_PASSWORD
    set -- "$@" "$word"
  done < words
  [ -z "$RESULT" ] || rm -f "$RESULT"
  $PROGRAM "$@" > out 2>&1; code=$?
  [ ! -f "$RESULT" ] || cat "$RESULT" >> out
  times > times
  echo "$code" > answer
done
