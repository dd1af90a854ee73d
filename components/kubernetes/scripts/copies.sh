# shellcheck shell=sh disable=SC2034
# Functions that compare copies of a data set: the one on the disk of a server that is about to start, and those of servers that
# run. Sourced after node.sh. CONFIG is the server's configuration file.

# setting NAME DEFAULT: value of a directive; the last line counts.
setting() {
  value=$(sed -n "s/^$1  *//p" "$CONFIG" | tail -n 1)
  echo "${value:-$2}"
}

# seconds_since FILE: age of a file.
seconds_since() { echo $(($(date +%s) - $(date -r "$1" +%s))); }

# own_copy: sets disk to what this server will load: an append-only file (aof), a snapshot (rdb) or none. age is the number of seconds
# since it was written; durable is yes where no acknowledged write can be missing; history and offset are its place in the replication
# stream, where that is known; last is the history that this server had when it ran (ready-replication.sh).
own_copy() {
  disk=none age=0 durable=no history='' offset=-1 last=$(cat "$HISTORY" 2>/dev/null)
  directory=$(setting dir .)
  snapshot=$directory/$(setting dbfilename dump.rdb)
  if [ "$(setting appendonly no)" = yes ]; then
    # A server with an append-only file ignores snapshots.
    files=$directory/$(setting appenddirname appendonlydir)
    # shellcheck disable=SC2012
    newest=$(ls -t "$files" 2>/dev/null | head -n 1)
    [ -n "$newest" ] && ! without_data "$files" || return 0
    disk=aof age=$(seconds_since "$files/$newest")
    [ "$(setting appendfsync everysec)" != always ] || durable=yes
    # A snapshot that is not older was saved when the server stopped in order, with all that is in the append-only file.
    { [ -s "$snapshot" ] && [ ! "$files/$newest" -nt "$snapshot" ]; } || return 0
  elif [ -s "$snapshot" ]; then
    disk=rdb age=$(seconds_since "$snapshot")
  else
    return 0
  fi
  # Both are empty where the file has no such fields.
  # shellcheck disable=SC2046
  set -- $(place "$snapshot")
  history=${2-} offset=${3:--1}
}

# without_data DIRECTORY: whether that append-only file has no commands, and its base has no keys. A server creates such a file when it
# starts, before it has copied anything from its primary.
without_data() {
  for file in "$1"/*.aof; do
    [ ! -s "$file" ] || return 1
  done
  for file in "$1"/*.base.rdb; do
    [ ! -s "$file" ] || place "$file" | grep -q '^empty' || return 1
  done
}

# place SNAPSHOT: prints `keys` or `empty`, then its replication ID and offset if it has them. Fields of text (250, name, value) follow nine
# bytes of magic and version.
place() {
  od -An -v -tu1 -N 1024 "$1" | awk '
    # Numbers are of one, two or four bytes, the lowest first. Longer ones are text.
    function text(   kind, low, left, weight, value) {
      kind = int(byte[at] / 64)
      low = byte[at++] % 64
      if (kind == 3 && low <= 2) {
        weight = 1
        for (left = low == 2 ? 4 : low + 1; left > 0; left--) {
          value += byte[at++] * weight
          weight *= 256
        }
        return sprintf("%.0f", value)
      }
      if (kind > 1) { at = -1; return "" }
      left = kind == 0 ? low : low * 256 + byte[at++]
      for (value = ""; left > 0; left--) value = value sprintf("%c", byte[at++])
      return value
    }
    { for (i = 1; i <= NF; i++) byte[count++] = $i }
    END {
      for (at = 9; at in byte && byte[at] == 250;) {
        at++
        name = text()
        field[name] = text()
      }
      # The byte after the fields: 255 ends the file, and any other begins functions or keys.
      print byte[at] == 255 ? "empty" : "keys", field["repl-id"], field["repl-offset"]
    }'
}

# ask HOST [COMMAND]: sets what that server says of its copy, and answer to all it says, also to the further command. Without an answer
# role stays empty. since is the number of seconds since it lost its primary, -1 where it has not had one since it started. followed is
# the host of a replica's primary. lineage is the history of its copy, and parent the one before.
ask() {
  role='' loading=0 link='' since=-1 syncing=0 applied=0 position=-1 lineage='' parent='' keys=no followed='' replicas=0
  answer=$(printf 'INFO persistence replication keyspace\n%s\n' "${2-}" | tell "$1" 2)
  while IFS=: read -r name value; do
    value=${value%"$CARRIAGE_RETURN"}
    case $name in
      loading) loading=$value ;;
      role) role=$value ;;
      master_host) followed=${value%.} ;;
      connected_slaves) replicas=$value ;;
      master_link_status) link=$value ;;
      master_link_down_since_seconds) since=$value ;;
      master_sync_in_progress) syncing=$value ;;
      slave_repl_offset) applied=$value ;;
      master_repl_offset) position=$value ;;
      master_replid) lineage=$value ;;
      master_replid2) parent=$value ;;
      db[0-9]*) keys=yes ;;
    esac
  done <<ANSWER
$answer
ANSWER
  [ "$link" != up ] || since=0
}

# has_data: after ask, whether that server has a copy at all. A replica that has not synchronized has applied nothing.
has_data() { [ "$keys" = yes ] || [ "$applied" -gt 1 ]; }

# newer: after own_copy and ask, whether that server has all that is on this server's disk, and more. Copies of the same history compare
# by their place in it. A history that was written down after this server's snapshot continues it. Otherwise a replica has all that its
# primary wrote while they were linked; if it has only loaded its own disk since it started, the age of its copy is unknown.
newer() {
  has_data || return 1
  [ "$disk" != none ] || return 0
  if [ -n "$history" ] && [ "$lineage" = "$history" ]; then
    [ "$position" -gt "$offset" ]
    return
  fi
  if [ "$disk" = rdb ] && [ -n "$last" ] && [ "$lineage" = "$last" ] && [ "$HISTORY" -nt "$snapshot" ]; then return 0; fi
  # Both are rounded to seconds.
  [ "$since" -ge 0 ] && [ "$since" -le $((age + 2)) ]
}
