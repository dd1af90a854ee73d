#!/bin/sh
# Runs staging servers in a container of the image with valkey-server, one server at a time. A program in another
# container of the pod writes to the directory that both containers share:
#   start      name of the next server; its configuration is NAME/valkey.conf
# This script writes:
#   version    version of the server's program
#   running    exists while a server runs
#   ended      exit status of the last server; "killed" if the container was killed together with the server
set -u
server=
trap '[ -z "$server" ] || kill "$server"; exit 0' TERM INT
cd "$STAGING_DIRECTORY" || exit 1
if [ -e running ]; then
  rm running
  echo killed >ended
fi
valkey-server --version | sed 's/.* v=\([^ ]*\).*/\1/' >version.new && mv version.new version
while :; do
  if [ -e start ]; then
    name=$(cat start)
    touch running
    rm start
    valkey-server "$name/valkey.conf" >"$name/log" 2>&1 &
    server=$!
    wait "$server"
    echo $? >ended.new
    server=
    mv ended.new ended
    rm running
  fi
  sleep 0.2 &
  wait $!
done
