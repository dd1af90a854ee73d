#!/bin/sh
# start-replica.sh PRIMARY PROGRAM ARGUMENTS…: starts a server of Redis or Dragonfly in replication mode. Pod 0 is the
# primary; every other pod follows PRIMARY, also after a restart. POD_NAME comes from the container's environment.
primary=$1
shift
case $POD_NAME in *-0) exec "$@" ;; esac
case $1 in
  dragonfly) exec "$@" "--replicaof=$primary:6379" ;;
  *) exec "$@" --replicaof "$primary" 6379 ;;
esac
