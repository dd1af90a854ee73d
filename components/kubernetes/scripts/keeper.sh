# shellcheck shell=sh disable=SC2034,SC2154
# Functions with which a keeper (keep.sh) changes the server of its own pod; the scripts that run before a pod stops use some of them too.
# Sourced after node.sh.

# act HOST COMMAND [WORDS]: sends a command to a node, with WORDS in the log of this pod. It ends the script once this pod is about to stop.
act() {
  ! stopping || exit 0
  [ -z "${3-}" ] || echo "keeper: $3" >&2
  echo "$2" | tell "$1" 2
}

# begin_stop: call it first before a stop. From now on the keeper moves no role. What it has begun ends within 2 s.
begin_stop() { now >"$DATA/stopping"; }

# stopping: whether this pod is about to stop. A stop that did not end the container, because a person ran the script, counts for ten minutes.
stopping() {
  [ -e "$DATA/stopping" ] || return 1
  read -r begun <"$DATA/stopping"
  [ -z "$begun" ] || [ $(($(now) - begun)) -lt 600 ]
}

# The status of this turn: 3 if the next one must come soon.
status=0

# lasts SECONDS FILE [STATE]: whether SECONDS have passed since the first call with FILE and STATE on this machine. FILE keeps that time.
# Until then the next turn comes soon.
lasts() {
  boot=$(cat /proc/sys/kernel/random/boot_id)${3:+/$3} noted='' first=''
  [ ! -s "$2" ] || read -r noted first <"$2"
  [ "$noted" = "$boot" ] || { first=$(now) && echo "$boot $first" >"$2"; }
  [ $(($(now) - first)) -ge "$1" ] || { status=3 && return 1; }
}

# came_up: call look first. Notes that this node has loaded its data (copies.sh).
came_up() { [ "$loading" != 0 ] || [ ! -e "$STARTING" ] || rm "$STARTING"; }

# remember: call look first. Writes the mark. Nothing is written of a replica without a primary, which may not have what its disk had, nor
# while the append-only file of a new data set is not complete: until then, writes go to a temporary file, and a start loads the former files.
remember() {
  [ "$loading" = 0 ] && [ "$scheduled" = 0 ] && { [ "$role" = master ] || [ "$link" = up ]; } || return 0
  [ "$rewriting" = 0 ] || [ ! -e "$DATA/appendonlydir/temp-appendonly.aof.incr" ] || return 0
  former='' earlier='' count=0
  [ ! -e "$MARK" ] || while read -r id offset least held names; do
    count=$((count + 1))
    [ $count -le 20 ] || break
    [ -n "$former" ] && earlier="$earlier
$id $offset" || former=$id before=$offset lowest=$least former_size=$held former_files=$names
  done <"$MARK"
  # A server without a backlog does not count its offset. What is written between the answer of the server and this line counts for that
  # answer too, so the offset may be a little too low for the size.
  [ "$counted" = 1 ] && files=$(append_only_files) || files='0 -'
  bytes=$((${files% *} + buffered)) files=${files#* }
  if [ "$lineage" != "$former" ]; then
    [ "$parent" = "$former" ] || earlier=''
    if [ -n "$parent" ]; then
      earlier="
$parent $left$earlier"
    elif [ "$role" = master ] && [ -n "$loaded" ]; then
      earlier="
$(echo "$loaded" | sed 's/\([^:]*\):\([^:]*\):*/\1 \2\n/g')"
    fi
  elif [ "$files" = - ]; then
    # Without an append-only file, the snapshot says its offset.
    return 0
  fi
  # What the file has gained since the last mark came after the offset of that mark.
  last=$position
  if [ "$lineage $files" = "$former ${former_files-}" ]; then
    [ "$bytes" = "$former_size" ] && last=$lowest || last=$((before + bytes - former_size))
  fi
  # A full disk must not replace the mark by an empty file.
  echo "$lineage $position $last $bytes $files$earlier" >"$MARK.$$" || { rm -f "$MARK.$$" && return; }
  # The position may be older after a power loss; the replication ID may not.
  [ "$lineage" = "$former" ] || sync "$MARK.$$" 2>/dev/null
  mv "$MARK.$$" "$MARK"
}

# guard: call look first. From the moment when enough replicas are linked, makes a primary refuse writes while too few keep up
# (min-replicas-to-write in valkey.conf). Start scripts and this function keep the value 0 until then, and on replicas. So a server that
# starts or takes over accepts writes before its replicas have found it. A primary never returns to 0 by itself, so one that is cut off refuses.
guard() {
  file=/valkey/config/valkey.conf
  [ -r "$file" ] && [ -n "$role" ] || return 0
  least=$(sed -n 's/^min-replicas-to-write  *//p' "$file" | tail -n 1) lag=$(sed -n 's/^min-replicas-max-lag  *//p' "$file" | tail -n 1)
  least=${least:-0}
  if [ "$role,$refuses" = master,no ] && [ "$least" != 0 ] && [ "$linked" -ge "$least" ]; then
    # If no more than these are linked, one may be the former primary, which stops next.
    [ "$linked" -gt "$least" ] || lasts 10 "$DATA/enough" || return 0
    # `up` changes running servers before the file reaches this pod. If the other directive differs, the file is outdated.
    [ "$(echo 'CONFIG GET min-replicas-max-lag' | tell localhost 3 | tail -n 1)" = "${lag:-10}" ] || return 0
  else
    rm -f "$DATA/enough"
    [ "$role" = master ] || least=0
    [ "$refuses" = yes ] && [ "$least" = 0 ] || return 0
  fi
  act localhost "CONFIG SET min-replicas-to-write $least" >/dev/null
}

# acceptable: whether clients that trust the authority in VALKEY_TLS_CA accept the certificate in the files. The function starts a
# server without data that uses the files, and connects to it.
acceptable() {
  files=${VALKEY_TLS_CA%/*} client=${VALKEY_CLI:-valkey-cli} found=1
  timeout 3 "${client%cli}server" --port 0 --tls-port 16390 --bind 127.0.0.1 --save '' --dir / --tls-auth-clients no \
    --tls-cert-file "$files/tls.crt" --tls-key-file "$files/tls.key" --tls-ca-cert-file "$VALKEY_TLS_CA" >/dev/null &
  for _ in 1 2 3 4 5; do
    sleep 0.2
    said=$(timeout 1 "$client" -h 127.0.0.1 -p 16390 --tls --cacert "$VALKEY_TLS_CA" PING 2>&1)
    case $said in
      PONG) found=0 && break ;;
      *certificate*) break ;;
    esac
  done
  kill $! 2>/dev/null
  # Waits for the test server: process 1 is the Valkey server, which does not reap processes that this shell leaves behind.
  wait $! 2>/dev/null
  return "$found"
}

# reload_certificate: call look first. With TLS, makes this node load its certificate again when Kubernetes has changed the files, and
# once after each start. Files that clients would refuse are not loaded, because replicas and Sentinels would lose the connection to
# this server. The keeper tries again after 10 s.
reload_certificate() {
  [ -n "${VALKEY_TLS_CA-}" ] && [ -n "$run" ] || return 0
  files=${VALKEY_TLS_CA%/*} loaded=$DATA/loaded-certificate refused=$DATA/refused-certificate
  current="$run $(cat "$files/tls.crt" "$files/tls.key" "$VALKEY_TLS_CA" | cksum)"
  [ "$current" != "$(cat "$loaded" 2>/dev/null)" ] || return 0
  [ ! -e "$refused" ] || lasts 10 "$refused" || return 0
  rm -f "$refused"
  if acceptable; then
    echo "CONFIG SET tls-cert-file $files/tls.crt tls-key-file $files/tls.key tls-ca-cert-file $VALKEY_TLS_CA" |
      tell localhost 3 | grep -q '^OK' && echo "$current" >"$loaded"
  else
    # Notes the time.
    lasts 10 "$refused" || return 0
  fi
}
