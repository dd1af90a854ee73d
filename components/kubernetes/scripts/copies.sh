# shellcheck shell=sh disable=SC2034
# Functions that compare copies of a data set: the copy on the disk of a server that is about to start, and the copies of running
# servers. Sourced after node.sh. CONFIG is the server's configuration file.

# setting NAME DEFAULT: prints the value of a directive, which may be in quotes. If CONFIG has it several times, the last line counts.
setting() {
  value=$(sed -n "s/^$1  *\"*\([^\"]*\).*/\1/p" "$CONFIG" | tail -n 1)
  echo "${value:-$2}"
}

# own_copy: describes the data on this server's disk in variables.
#   disk             the file that this server will load: aof (an append-only file), rdb (a snapshot) or none
#   durable          yes if no acknowledged write can be missing from it
#   history, offset  replication ID of the file, and an offset up to which it has all writes; empty and -1 if they are unknown
#   lowest           the lowest offset at which the last of these writes may be
#   marked           the mark as `ID:OFFSET:ID:OFFSET…`, the newest replication ID first
own_copy() {
  disk=none durable=no history='' offset=-1 lowest=-1 marked='' last='' at=-1 size=0 files=-
  # shellcheck disable=SC2034
  [ ! -s "$MARK" ] || while read -r id end least bytes names; do
    [ -n "$marked" ] || last=$id at=$end lowest=$least size=$bytes files=$names
    marked=$marked${marked:+:}$id:$end
  done <"$MARK"
  directory=$(setting dir .)
  snapshot=$directory/$(setting dbfilename dump.rdb)
  if [ "$(setting appendonly no)" = yes ]; then
    # A server with an append-only file ignores snapshots.
    appended=$directory/$(setting appenddirname appendonlydir)
    [ -n "$(ls "$appended" 2>/dev/null)" ] && ! without_data "$appended" || return 0
    disk=aof
    [ "$(setting appendfsync everysec)" != always ] || durable=yes
    # What the files have gained since the mark, or lost in a power loss, counts: they have the same bytes as the replication stream. The
    # stream also has some that only replicas get, so the offset may be too low.
    history=$last grown=0
    present=$(append_only_files)
    [ "$files" = - ] || [ "$files" != "${present#* }" ] || grown=$((${present% *} - size))
    [ -z "$last" ] || offset=$((at + grown))
    [ "$grown" = 0 ] || lowest=$offset
  elif [ -s "$snapshot" ]; then
    disk=rdb
  fi
  [ $disk != none ] && [ -s "$snapshot" ] || return 0
  # place prints neither if the snapshot does not have these fields.
  # shellcheck disable=SC2046
  set -- $(place "$snapshot")
  if [ -z "$history" ] || { [ $disk = rdb ] && [ -n "${2-}" ]; }; then
    history=${2:-$last} offset=${3:--1}
    # Without Sentinels, a primary that has lost its replicas goes on with six pings of 14 bytes until it notices.
    lowest=$((offset - 100))
  elif [ $disk = aof ] && [ "${2-}" = "$history" ] && [ "$grown" -ge 0 ] && [ "${3:--1}" -gt "$offset" ]; then
    # The server saved this snapshot when it stopped in order, after the last write of the append-only file.
    offset=$3
    [ "$grown" = 0 ] || lowest=$3
  fi
}

# description: prints what own_copy found as `ID:OFFSET:ID:OFFSET…`, the newest replication ID first. A server carries it as its syslog-ident,
# because it begins with a new replication ID, or does not say the earlier ones. Nothing else uses this setting.
description() {
  [ -n "$history" ] || return 0
  case $marked in *"$history":*) earlier=${marked#*"$history":} ;; *) earlier='' ;; esac
  case $earlier in *:*) earlier=:${earlier#*:} ;; *) earlier='' ;; esac
  # What an append-only file has is estimated.
  [ $disk = rdb ] && echo "$history:$offset$earlier" || echo "$history:$lowest$earlier"
}

# without_data DIRECTORY: whether the append-only file in this directory has no commands and its base has no keys. A server creates
# such a file when it starts, before it has copied anything from its primary.
without_data() {
  for file in "$1"/*.aof; do
    [ ! -s "$file" ] || return 1
  done
  for file in "$1"/*.base.rdb; do
    [ ! -s "$file" ] || place "$file" | grep -q '^empty' || return 1
  done
}

# place SNAPSHOT: prints `keys` or `empty`, then the replication ID and the offset of the snapshot if it has them. A snapshot begins with
# nine bytes of magic and version. Fields of text follow (the byte 250, a name, a value).
place() {
  od -An -v -tu1 -N 1024 "$1" | awk '
    # A number has one, two or four bytes, the lowest byte first. A longer number is stored as text.
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
      # The byte after the fields: 255 is the end of the file; any other byte begins functions or keys.
      print byte[at] == 255 ? "empty" : "keys", field["repl-id"], field["repl-offset"]
    }'
}

# settle: call it after own_copy, before the server starts. The server writes to its append-only file with another replication ID than the
# mark names, so what the file gains from now on does not count for the mark.
settle() {
  [ $disk = aof ] && [ -n "$history" ] || return 0
  [ -e "$MARK" ] || : >"$MARK"
  { echo "$history $offset $lowest 0 -" && sed 1d "$MARK"; } >"$MARK.new" && mv "$MARK.new" "$MARK"
}

# set_aside HOST: call it after own_copy and before the server starts as a replica of HOST. If the last start did not come up, the file of this
# server may be damaged, and every further start would end in the same way. So the file is renamed if HOST has all data of it. If HOST does
# not answer, or has less, the file stays: it may be the best copy that there is.
set_aside() {
  if [ -e "$STARTING" ] && [ $disk != none ] && [ -n "$1" ]; then
    ask "$1"
    case $role$(relation) in
      mastermore | mastersame)
        [ $disk = aof ] && damaged=$appended || damaged=$snapshot
        say "the last start did not come up, and $1 has all data of $damaged, so it is renamed to $damaged.damaged"
        rm -rf "$damaged.damaged" && mv "$damaged" "$damaged.damaged"
        ;;
    esac
  fi
  : >"$STARTING"
}

# ask HOST [COMMAND]: asks a server about its copy, and sets variables from its answer. COMMAND is sent too; answer has the whole reply.
#   role      master or slave; empty if the server does not answer
#   since     seconds since the server lost its primary; -1 if it has had no primary since it started
#   followed  host of the replica's primary
#   copy      what it has, as `description` prints it
#   synced    whether it has had a primary since it started
ask() {
  role='' loading=0 link='' since=-1 syncing=0 applied=0 position=-1 lineage='' parent='' left=0 loaded='' keys=no followed='' replicas=0
  answer=$(printf 'INFO persistence replication keyspace\nCONFIG GET syslog-ident\n%s\n' "${2-}" | tell "$1" 2)
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
      master_replid2) parent=${value##*0000000000} ;;
      second_repl_offset) left=$((value - 1)) ;;
      mark) loaded=$value ;;
      db[0-9]*) keys=yes ;;
    esac
  done <<ANSWER
$answer
ANSWER
  synced=yes copy=$lineage:$position
  if [ -n "$parent" ]; then
    copy=$copy:$parent:$left
  elif [ "$role" = master ]; then
    copy=$copy${loaded:+:$loaded}
  elif [ "$link" != up ] && [ "$since" -lt 0 ]; then
    synced=no copy=${loaded:-$copy}
  fi
}

# has_data: whether the server that was asked has a copy at all. A replica that has not synchronized yet has applied no writes.
has_data() { [ "$keys" = yes ] || [ "$applied" -gt 1 ]; }

# relation: call it after own_copy and ask. It prints what the server that was asked has, compared with this server's disk.
#   more     all data of this disk, and more
#   same     all data of this disk; or the difference may be pings only, and its server has not gone on with another replication ID
#   less     a part of the data of this disk
#   parted   it has a part of this disk's data, and went on from there
# A copy whose replication IDs are all unknown here is later than the mark if its server has had a primary since it started. Otherwise its
# server has only loaded its own disk, and nothing says that this is more.
relation() {
  has_data || { echo less && return; }
  [ "$disk" != none ] || { echo more && return; }
  awk -v disk="$history:$offset:$lowest" -v marked="$marked" -v copy="$copy" -v synced="$synced" '
    BEGIN {
      theirs = split(copy, their, ":")
      split(disk, own, ":")
      marks = split(marked, mark, ":")
      # The place of the own replication ID in the mark: those before it are later, those behind it earlier.
      place = marks + 1
      for (i = 1; i < marks; i += 2) if (mark[i] == own[1] && place > marks) place = i
      for (i = 1; i < theirs; i += 2) {
        if (own[1] != "" && their[i] == own[1]) say(their[i + 1] + 0 < own[3] + 0 ? (i == 1 ? "less" : "parted") : i > 1 || their[2] + 0 > own[2] + 0 ? "more" : "same")
        for (k = 1; k < marks; k += 2) if (mark[k] == their[i]) {
          if (k > place) say(i == 1 && their[2] + 0 <= mark[k + 1] + 0 ? "less" : "parted")
          if (k < place) say(place > marks || mark[place + 1] + 0 >= own[3] + 0 ? "more" : "parted")
        }
      }
      say(synced == "yes" ? "more" : "less")
    }
    function say(word) { if (!said++) print word; exit }' </dev/null
}

# preferable: whether that copy is to be used rather than this disk. If the last start did not come up, this disk may be damaged.
preferable() {
  case $(relation) in
    more) true ;;
    same) [ -e "$STARTING" ] ;;
    *) false ;;
  esac
}

# best: reads lines `KIND POSITION HOST COPY`, where COPY is what `ask` calls so, and prints `KIND HOST` of the copy with most data among
# those that are a primary, linked or loaded. The copies are compared by the replication ID that the mark names; if none of them knows it,
# by one that another copy continues. The copy that has most of it comes first. Among equals, a copy that went on from there comes first, then
# a primary, then a copy that has had a primary, then the highest position.
best() {
  awk -v last="$last" '
    $1 !~ /^(primary|linked|loaded)$/ { next }
    {
      kind[++count] = $1; position[count] = $2; host[count] = $3
      fields = split($4, field, ":")
      for (i = 1; i < fields; i += 2) {
        end[count, field[i]] = field[i + 1] + 1
        if (i > 1) { went[count, field[i]] = 1; earlier[field[i]] = 1 } else newest[field[i]] = 1
        if (field[i] == last) known = 1
      }
    }
    END {
      if (!known) for (id in earlier) if (id in newest) last = id
      for (i = 1; i <= count; i++)
        print end[i, last] + 0, went[i, last] + 0, kind[i] == "primary", kind[i] == "linked", position[i], kind[i], host[i]
    }' | sort -k 1,1nr -k 2,2nr -k 3,3nr -k 4,4nr -k 5,5nr | awk 'NR == 1 { print $6, $7 }'
}

# limits SECONDS|wait|default: sets for how many seconds a server waits for silent replicas. A silent server may have newer data: it may be
# frozen, cut off, or starting with a newer snapshot. The default is 60 s, but without an append-only file the disk may be much older than what
# a silent server has, so then the server waits until they answer.
#   linked    the limit while a replica answers that has had a primary since it started: it has all but the last moment of the primary's data
#   unlinked  the limit otherwise
limits() {
  ever=1000000000 linked=$1
  case $1 in
    wait) linked=$ever ;;
    default) linked=60 ;;
  esac
  unlinked=$linked
  [ "$1 $(setting appendonly no)" != "default no" ] || unlinked=$ever
  # It counts only for the wait in which a person makes it.
  rm -f "$DATA/serve"
}

has() { echo "$seen" | grep -q "^$1"; }

# patience_for: prints the seconds for which this server waits before it starts with its own data, given the states of the others in `seen`. While
# a replica with more data answers, it waits until this replica has taken over.
patience_for() {
  if has primary || has linked || has loaded; then
    echo "$ever"
  elif has silent || { has busy && [ "$durable" = no ]; }; then
    has level && echo "$linked" || echo "$unlinked"
  else
    echo 0
  fi
}

# decided: whether a person has decided that this server starts with its own data, although others are silent.
decided() { [ -e "$DATA/serve" ] && ! has primary && ! has linked && ! has loaded; }

# tell_wait: says every 20 s for whom this server waits, and for how long, given `limit` and the lines `KIND POSITION HOST …` in `seen`.
tell_wait() {
  [ -z "${told-}" ] || [ $(($(now) - told)) -ge 20 ] || return 0
  told=$(now)
  [ "$limit" -lt "$ever" ] && until="for up to $limit s" || until="until they answer; to start without them: kubectl exec ${POD_NAME:-POD} -- touch $DATA/serve"
  waiting=$(echo "$seen" | awk '$1 == "silent" { print $3 " (silent)" } $1 == "busy" { print $3 " (loading)" }' | tr '\n' ' ')
  say "waits for ${waiting}$until. They may have newer data than this server's disk ($disk)"
}

# say WORDS: says what a start script does, in the log of this pod.
say() {
  name=${0##*/}
  echo "${name%.sh}: $*" >&2
}

# survey: prints the state of all peers, one line for each. The script's `peers` prints them, and `judge` prints the state of one.
survey() {
  peers | {
    # shellcheck disable=SC2086
    while read -r peer; do judge $peer </dev/null & done
    wait
  }
}

# become MODE PROGRAM ARGUMENTS…: becomes the server, with its keeper beside it. The entry points of Valkey's images load the modules of a
# bundle. Those of Redis are skipped: they would load modules that the comparison with Valkey leaves out.
become() {
  sh "${0%/*}/keep.sh" "$1" 2 $$ &
  shift
  # The keeper sets the configured number of replicas (guard in keeper.sh).
  set -- "$@" --syslog-ident "mark:$(description)" --min-replicas-to-write 0
  entry=$(command -v bundle-docker-entrypoint.sh || command -v docker-entrypoint.sh)
  [ "$1" != valkey-server ] || [ -z "$entry" ] || set -- "$entry" "$@"
  exec "$@"
}
