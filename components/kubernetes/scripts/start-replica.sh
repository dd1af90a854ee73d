#!/bin/sh
# start-replica.sh PROGRAM ARGUMENTS…: starts a server of Redis or Dragonfly in replication mode. Pod 0 is always the primary. Every
# other pod follows the Service PRIMARY_SERVICE, which routes to pod 0. POD_NAME and PRIMARY_SERVICE come from the container's
# environment.
case $POD_NAME in *-0) exec "$@" ;; esac
case $1 in
  dragonfly) exec "$@" "--replicaof=$PRIMARY_SERVICE:6379" ;;
  *)
    sh "${0%/*}/keep.sh" replication 5 $$ &
    exec "$@" --replicaof "$PRIMARY_SERVICE" 6379
    ;;
esac
