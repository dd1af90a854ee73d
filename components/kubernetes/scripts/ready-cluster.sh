#!/bin/sh
# Readiness of a cluster node: does it do its part?
#   not formed yet   it answers; forming is somebody else's work and waits for all pods to be ready
#   replica          its data set is loaded and its link to the primary is up
#   any member       the cluster's state is ok; or it is not because slots elsewhere are lost, while this node still
#                    reaches the majority of primaries: then it stays, or one lost shard would take all pods out of the
#                    Service and stop the very restart that repairs it
# A member that finds the cluster not ok first meets its peers again by their DNS names: when all pods come back at once,
# each with a new address, no address in any nodes.conf is right.
. "${0%/*}/node.sh"

look
[ -n "$state" ] || exit 1
[ "$known" -gt 1 ] || exit 0
if [ "$state" = ok ]; then
  [ "$role" = master ] || [ "$link" = up ]
  exit
fi

nodes=$(echo 'CLUSTER NODES' | tell localhost 3)
reached=0 met=0
while read -r _id address flags _primary _sent _received _epoch connection slots; do
  case $flags in
    *myself*) [ -z "$slots" ] || reached=$((reached + 1)) ;;
    *fail | *fail,* | *'fail?'* | *noaddr*) connection=disconnected ;;
    *master*) [ "$connection" != connected ] || [ -z "$slots" ] || reached=$((reached + 1)) ;;
  esac
  # Few at a time, so that the probe ends in time: who is met passes on who else is there.
  case $flags in *myself*) continue ;; esac
  [ "$connection" != connected ] && [ "$met" -lt 8 ] || continue
  peer=${address#*,}
  peer=${peer%%,*}
  [ -n "$peer" ] && [ "$peer" != "$address" ] || continue
  met=$((met + 1))
  # Asked of the peer, which knows the password: whoever else may have got its old address meanwhile does not.
  echo "CLUSTER MEET $POD_IP 6379" | tell "$peer" 2 >/dev/null &
done <<NODES
$nodes
NODES
wait

[ "$role" = master ] || [ "$link" = up ] || exit 1
# With every slot served, this node is only about to be let in again.
[ "$slots_ok" -lt 16384 ] && [ $((reached * 2)) -gt "$size" ]
