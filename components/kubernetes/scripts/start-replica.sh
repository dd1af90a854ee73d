#!/bin/sh
# start-replica.sh PROGRAM ARGUMENTS…: starts a server of Redis or Dragonfly in replication mode. Pod 0 is the primary;
# every other pod follows its Service, PRIMARY_SERVICE, also after a restart. POD_NAME and PRIMARY_SERVICE come from the
# container's environment.
case $POD_NAME in *-0) exec "$@" ;; esac
case $1 in
  dragonfly) exec "$@" "--replicaof=$PRIMARY_SERVICE:6379" ;;
  *) exec "$@" --replicaof "$PRIMARY_SERVICE" 6379 ;;
esac
