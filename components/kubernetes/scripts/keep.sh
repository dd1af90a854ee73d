#!/bin/sh
# keep.sh MODE SECONDS PROCESS: the keeper of the server with this process number. A start script runs it in the background just before it becomes
# the server. Again and again, SECONDS after it has ended, it runs keep-MODE.sh. These turns are all that changes a running server
# from within its pod; probes only ask. A turn begins anew from what servers say, so it can end anywhere. Its status is 0 if nothing is left to do,
# and 3 if the next turn comes after a second. The keeper ends with its server, or when a later keeper has begun.
. "${0%/*}/node.sh"

# beat: notes the time and this keeper. The line has a fixed length and replaces the former one in place, so a full disk has room for it.
beat() { printf '%10d %10d\n' "$(now)" $$ 1<>"$KEPT"; }

# only: whether no later keeper has begun.
only() {
  owner=''
  [ ! -e "$KEPT" ] || read -r _ owner <"$KEPT"
  [ "${owner:-$$}" = $$ ]
}

rm -f "$DATA/stopping"
beat
while kill -0 "$3" 2>/dev/null && only; do
  pause=$2
  sh "${0%/*}/keep-$1.sh"
  status=$?
  [ $status != 3 ] || pause=1 status=0
  ! only || [ $status != 0 ] || beat
  sleep "$pause"
done
