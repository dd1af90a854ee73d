#!/bin/sh
# Readiness of a node in replication mode: its data set is loaded. A replica must also be linked to the primary and keep up with it. Without
# Sentinels, a designated primary that has lent its role is not ready, because its Service must lead to a primary (start-replication.sh).
. "${0%/*}/node.sh"

# keeps_up: whether this linked replica has every write that the primary had MAX_LAG seconds ago. At each probe it notes the primary's
# position together with the replication ID, because positions of different replication IDs cannot be compared. A time that
# is later than now was noted before the machine started again, and is forgotten.
keeps_up() {
  [ -n "${MAX_LAG-}" ] || return 0
  reached=$(echo 'INFO replication' | tell "$followed" 2 | sed -n 's/^master_repl_offset:\([0-9]*\).*/\1/p')
  # If the primary does not answer, it may be far ahead, so the replica counts as late.
  { cat "$DATA/reached" 2>/dev/null; [ -z "$reached" ] || echo "$(now) $lineage $reached"; } |
    awk -v now="$(now)" -v due="$(($(now) - MAX_LAG))" -v lineage="$lineage" -v applied="$applied" '
      $1 > now || $2 != lineage { next }
      { newest = $1 }
      $1 <= due { last = $0; most = $3; next }
      { later = later $0 "\n" }
      END { if (last != "") print last; printf "%s", later; exit most > applied || newest <= due }' >"$DATA/reached.new"
  late=$?
  mv "$DATA/reached.new" "$DATA/reached"
  return $late
}

kept || exit 1
look
[ "$loading" = 0 ] || exit 1
[ "$role" != master ] || exit 0
[ ! -e "$DATA/lent" ] && [ "$link" = up ] && keeps_up
