#!/bin/sh
# Readiness of a cluster node: does it serve its part of the cluster?
#   not formed yet   ready if it answers, because formation waits until all pods are ready
#   lost its data    not ready. The others know this pod with a different node ID; it joins them again (keep-cluster.sh). A roll-out must not
#                    continue with the next pod before this one has slots, or a copy of the data of a node that has
#   replica          ready if its data set is loaded and its link to the primary is up
#   just started     ready if it reaches every primary, and the cluster's state is ok. In the first two minutes a primary that does not
#                    answer may be starting too; after that it counts as lost
#   any member       ready if it reaches the majority of primaries, and the cluster's state is ok, or is not ok because slots of other
#                    nodes are lost: one lost shard must not take every pod out of the Service, and must not block the restart that
#                    repairs it
. "${0%/*}/node.sh"
. "${0%/*}/join.sh"

kept || exit 1
look
[ -n "$state" ] || exit 1
if [ "$known" -le 1 ]; then
  lost_data
  case $? in
    0) exit 1 ;;
    # The node is new, or has its data.
    1) exit 0 ;;
  esac
  # It is unknown whether the node has lost its data. The pod is not ready, because the roll-out would continue with the next pod, which
  # may have the only copy. After two minutes it is ready: in some Kubernetes clusters a Service without ready pods does not answer at
  # all, and otherwise no pod would ever become ready.
  [ "$uptime" -gt 120 ]
  exit
fi
! without_slots || exit 1
[ "$role" = master ] || [ "$link" = up ] || exit 1
# A node detects old addresses within the node timeout; until then the state may still be ok.
[ "$state" != ok ] || [ "$uptime" -le 60 ] || exit 0
reached=$(known_nodes | grep -c '^serves')
if [ "$uptime" -le 120 ]; then
  [ "$state" = ok ] && [ "$reached" -ge "$size" ]
  exit
fi
[ $((reached * 2)) -gt "$size" ] && { [ "$state" = ok ] || [ "$slots_ok" -lt 16384 ]; }
