# The sidecar of a runner: runs a load generator that the servers' image does not hold, once each time the runner asks.
# The runner and the sidecar wait on two named pipes in a shared directory, so that neither uses CPU while it waits.
#
# Environment:
#   EXCHANGE                  shared directory
#   SETUP                     command to run once before anything is sent
#   PROGRAM                   command that runs the load generator; its arguments follow
#   RESULT                    file that the load generator writes and that belongs to its output; empty: none
#   TOOL_USER, TOOL_PASSWORD  user made for the run; absent where the servers want no password
# The arguments of each run are lines of $EXCHANGE/words and hold no secret.
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
