#!/bin/sh
# Readiness of a node in replication: its data set is loaded and, of a replica, its link to the primary is up.
# PRIMARY_SERVICE, where it is set, is the Service of pod 0, which is always the primary. A replica without its primary tries
# each second, but an attempt that nobody answers lasts for repl-timeout (60 s), and after a restart of pod 0 nobody answers at
# its old address. The script makes such a replica begin anew at the Service, which keeps its address and refuses connections
# while pod 0 is not ready. The data set stays, for a partial synchronization.
. "${0%/*}/node.sh"

look
reload_certificate
[ "$loading" = 0 ] || exit 1
[ "$role" != master ] && [ "$link" != up ] || exit 0
[ -n "${PRIMARY_SERVICE-}" ] || exit 1

# Until the next probe. A probe may take 8 s.
attempt=0
while [ $attempt -lt 4 ]; do
  attempt=$((attempt + 1))
  # slave HOST PORT STATE OFFSET
  # shellcheck disable=SC2046
  set -- $(echo ROLE | tell localhost 2)
  case ${4-} in
    connected) exit 0 ;;
    connecting)
      # REPLICAOF does nothing for the host that the replica has already; a final dot is another spelling of it.
      host=$PRIMARY_SERVICE
      [ "$2" != "$host" ] || host=$host.
      echo "REPLICAOF $host 6379" | tell localhost 2 >/dev/null
      ;;
  esac
  sleep 1
done
exit 1
