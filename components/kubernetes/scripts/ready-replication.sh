#!/bin/sh
# Readiness of a node in replication: its data set is loaded and, of a replica, its link to the primary is up.
. "${0%/*}/node.sh"

look
[ "$loading" = 0 ] || exit 1
[ "$role" = master ] || [ "$link" = up ]
