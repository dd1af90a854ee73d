#!/bin/sh
# sentinel.sh: starts a Sentinel. A Sentinel without a saved state watches the primary that the other Sentinels name. If they name none, it
# watches the primary that the servers name. In a new deployment the servers name none either, so it watches the designated primary. The
# container's environment sets the variables that sentinels.sh reads. The file `servers` in /valkey/config has the number of servers.
. "${0%/*}/node.sh"
. "${0%/*}/copies.sh"
. "${0%/*}/sentinels.sh"

# Clients ask Sentinels for the primary with the password of the servers. They may not change anything.
READING='+ping +info +command +client|id +client|setname +client|setinfo +subscribe +psubscribe +unsubscribe +punsubscribe'
for command in get-master-addr-by-name get-primary-addr-by-name master primary masters primaries replicas slaves sentinels; do
  READING="$READING +sentinel|$command"
done
trap 'exit 143' TERM
[ -z "${VALKEY_TLS_CA-}" ] || certificate >/data/certificate
# A container that restarts in its pod keeps the Sentinel's saved state, unless the other Sentinels know a later primary. With the old
# state this Sentinel would tell them of an earlier failover, and they would believe it.
if [ -e /data/sentinel.conf ]; then
  own=$(awk '$1 == "sentinel" && $2 == "monitor" { print $4 }' /data/sentinel.conf)
  other=$(watched "$(most)")
  if [ -n "$other" ] && [ "$own" != "$other" ] && role_of "$other" | grep -q '^master' && ! role_of "$own" | grep -q '^master'; then
    rm /data/sentinel.conf
  fi
fi
if [ ! -e /data/sentinel.conf ]; then
  [ -n "${other-}" ] || await_names
  primary=$(watched)
  [ -n "$primary" ] || primary=$(leading)
  password=$(cat "$VALKEY_PASSWORD_FILE") admin=$(cat "${VALKEY_PASSWORD_FILE%/*}/sentinel-password")
  {
    if [ -n "${VALKEY_TLS_CA-}" ]; then
      echo 'port 0'
      echo 'tls-port 26379'
      echo "tls-cert-file ${VALKEY_TLS_CA%/*}/tls.crt"
      echo "tls-key-file ${VALKEY_TLS_CA%/*}/tls.key"
      echo "tls-ca-cert-file $VALKEY_TLS_CA"
      # Clients authenticate by password.
      echo 'tls-auth-clients optional'
      # Encrypts connections to the servers and to other Sentinels.
      echo 'tls-replication yes'
    else
      echo 'port 26379'
    fi
    cat <<CONF
bind * -::*
protected-mode no
dir /data
user admin on >$admin ~* &* +@all
user default on >$password resetchannels &* -@all $READING
sentinel sentinel-user admin
sentinel sentinel-pass $admin
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $POD_NAME$SENTINELS
sentinel announce-port 26379
sentinel monitor $DEPLOYMENT ${primary:-$(designated)$SERVERS} 6379 $QUORUM
sentinel auth-pass $DEPLOYMENT $password
sentinel down-after-milliseconds $DEPLOYMENT $DOWN_AFTER
sentinel failover-timeout $DEPLOYMENT $FAILOVER_TIMEOUT
sentinel parallel-syncs $DEPLOYMENT 1
CONF
  } >/data/new.conf
  mv /data/new.conf /data/sentinel.conf
fi
sh "${0%/*}/keep.sh" sentinel 5 $$ &
exec valkey-server /data/sentinel.conf --sentinel
