#!/bin/sh
# keep.sh MODE SECONDS PROCESS: the keeper of the server with this process number. A start script runs it in the background just before it becomes
# the server. Again and again, SECONDS after it has ended, it runs keep-MODE.sh. These turns are all that changes a running server
# from within its pod; probes only ask. A turn begins anew from what servers say, so it can end anywhere. Its status is 0 if nothing is left to do,
# and 3 if the next turn comes after a second. While nothing is left to do and the server says the same as before, a turn every 10 s is enough:
# each starts some forty processes. The keeper ends with its server, or when a later keeper has begun.
. "${0%/*}/node.sh"

# beat: notes the time and this keeper. The line has a fixed length and replaces the former one in place, so a full disk has room for it.
beat() { printf '%10d %10d\n' "$up" $$ 1<>"$KEPT"; }

# only: whether no later keeper has begun.
only() {
  owner=''
  [ ! -e "$KEPT" ] || read -r _ owner <"$KEPT"
  [ "${owner:-$$}" = $$ ]
}

# calm: whether nothing is left to do, the last turn was less than 10 s ago, and the server says the same as then. Sentinels do not say it.
calm() {
  [ "$1" != sentinel ] && [ $((up - turned)) -lt 10 ] || return 1
  look
  pod=''
  [ ! -s "${PRIMARY_FILE-}" ] || read -r pod <"$PRIMARY_FILE"
  said="$run $role $followed $link $loading $state $known $slots_ok $linked $refuses $pod"
  [ "$said" = "$told" ]
}

# clock: sets up to the seconds since the machine started.
clock() { read -r up _ </proc/uptime && up=${up%.*}; }

rm -f "$DATA/stopping"
clock
beat
turned=-10 told='' said=''
while kill -0 "$3" 2>/dev/null && only; do
  pause=$2 status=0
  if ! calm "$1"; then
    told=$said
    sh "${0%/*}/keep-$1.sh"
    status=$?
    clock
    [ $status = 0 ] && turned=$up || turned=-10
    [ $status != 3 ] || pause=1 status=0
  fi
  ! only || [ $status != 0 ] || beat
  sleep "$pause"
  clock
done
