#!/bin/sh
# Readiness of a cluster node: does it serve its part of the cluster?
#   not formed yet   it answers; formation waits until all pods are ready
#   lost its data    others know this pod as another node: it joins them again (join.sh). A roll-out must not go on to the next pod
#                    before this one has slots, or a copy of another's
#   replica          its data set is loaded and its link to the primary is up
#   just started     it reaches every primary, and the cluster's state is ok: after two minutes a primary that it does not
#                    reach is lost, before that it may be starting as well
#   any member       it reaches the majority of primaries, and the cluster's state is ok; or it is not because slots
#                    elsewhere are lost: one lost shard must not take every pod out of the Service, nor stop the very
#                    restart that repairs it
# A member that has just started, or finds the cluster not ok, meets those peers again by their DNS names that do not
# answer: when all pods come back at once, each with a new address, no address in any nodes.conf is right.
. "${0%/*}/node.sh"
. "${0%/*}/join.sh"

# announce_machine: after look. Once after each start, where clients outside connect by node ports: the pod may be on another
# machine than when its file was written. HOST_IP comes from the container's environment.
announce_machine() {
  told=$DATA/told-machine
  [ -n "$run" ] && [ "$run" != "$(cat "$told" 2>/dev/null)" ] || return 0
  if grep -q '^# machine$' "/valkey/announced/$POD_NAME.conf" 2>/dev/null; then
    case $HOST_IP in *:*) family=ipv6 ;; *) family=ipv4 ;; esac
    echo "CONFIG SET cluster-announce-client-$family $HOST_IP" | tell localhost 3 | grep -q '^OK' || return 0
  fi
  echo "$run" >"$told"
}

look
reload_certificate
announce_machine
[ -n "$state" ] || exit 1
if [ "$known" -le 1 ]; then
  lost_data
  case $? in
    0) meet_again ;;
    1) exit 0 ;;
    # The roll-out would go on to the next pod, which may have the only copy. Where Services without pods do not answer, nobody
    # could ever be ready.
    *) [ "$uptime" -le 120 ] || exit 0 ;;
  esac
  exit 1
fi
# A member that has started lately may have come back without its data; from then on until it has a part in the cluster.
idle=$DATA/idle-primary
if [ "$role" = master ] && { [ "$uptime" -le 60 ] || [ -e "$idle" ]; } && [ -z "$(own_slots)" ]; then
  : >"$idle"
  ! lost_data || replicate_again
  exit 1
fi
rm -f "$idle"
forget_former
linked=yes
[ "$role" = master ] || [ "$link" = up ] || linked=no
# A node detects old addresses within the node timeout; until then the state may still be ok.
if [ "$state" = ok ] && [ "$uptime" -gt 60 ]; then
  [ $linked = yes ]
  exit
fi

reached=0 met=0 now=$(date +%s)
while read -r _id address flags _primary pinged _received _epoch connection slots; do
  # A connection attempt to an old address counts as a connection, but its ping stays unanswered.
  [ "$pinged" = 0 ] || pinged=$((now - pinged / 1000))
  case $flags,$connection in
    *myself*) silent=no ;;
    *fail,* | *'fail?'* | *noaddr* | *handshake* | *,disconnected) silent=yes ;;
    *) [ "$pinged" -gt 1 ] && silent=yes || silent=no ;;
  esac
  if [ "$silent" = no ]; then
    [ -z "$slots" ] || reached=$((reached + 1))
    continue
  fi
  peer=${address#*,}
  peer=${peer%%,*}
  # Few at a time, so that the probe ends in time; gossip spreads the rest.
  [ "$met" -lt 8 ] && [ -n "$peer" ] && [ "$peer" != "$address" ] || continue
  met=$((met + 1))
  # The peer sends the MEET: it knows the password, and another pod with this node's old address does not.
  echo "CLUSTER MEET $POD_IP 6379" | tell "$peer" 2 >/dev/null &
done <<NODES
$(echo 'CLUSTER NODES' | tell localhost 3)
NODES
wait

[ $linked = yes ] || exit 1
if [ "$uptime" -le 120 ]; then
  [ "$state" = ok ] && [ "$reached" -ge "$size" ]
  exit
fi
[ $((reached * 2)) -gt "$size" ] && { [ "$state" = ok ] || [ "$slots_ok" -lt 16384 ]; }
