/** Rules and thresholds of the alerts on the servers of a namespace, in the format of Prometheus. */

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: "critical" | "warning" };
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** Part of maxmemory, above which the server will soon evict keys or refuse writes. */
const FULL = 0.9;
/** Alert threshold for a replica's lag: seconds since its last acknowledgement. */
const MAX_LAG_SECONDS = 10;
const SLOTS = 16_384;
/** cert-manager renews a certificate of 90 days when 30 days remain. */
const CERTIFICATE_DAYS = 14;
/** The controller verifies at least every 120 s. */
const STALE_LOOK_SECONDS = 300;
/** Age of the newest data in an archive, seconds: below one second in a healthy archive. */
const ARCHIVE_AGE_SECONDS = 60;
/** Alert threshold for the age of the last proof of an archive, as a multiple of the interval of drills. */
const MISSED_DRILLS = 2;

/** redis_ metrics: oliver006/redis_exporter; valkey_: controllers and archives; kube_: kube-state-metrics. */
export function alertRules(namespace: string): AlertRule[] {
  const here = (metric: string): string => `${metric}{namespace="${namespace}"}`;
  const of = (metric: string): string => here(`redis_${metric}`);
  const rule = (
    alert: string,
    severity: AlertRule["labels"]["severity"],
    duration: string,
    expr: string,
    summary: string,
    description: string,
  ): AlertRule => ({ alert, expr, for: duration, labels: { severity }, annotations: { summary, description } });
  return [
    rule(
      "ValkeyNodeDown",
      "critical",
      "1m",
      `${of("up")} == 0`,
      "{{ $labels.pod }} does not answer",
      "The exporter has had no answer from the server for a minute. If the server was a primary with a replica, the replica takes over.",
    ),
    rule(
      "ValkeyReplicaLinkDown",
      "warning",
      "2m",
      `${of("master_link_up")} == 0`,
      "{{ $labels.pod }} does not follow its primary",
      "The replica has had no link to its primary for two minutes. New writes have one copy fewer.",
    ),
    rule(
      "ValkeyReplicationLag",
      "warning",
      "2m",
      `${of("connected_slave_lag_seconds")} > ${MAX_LAG_SECONDS}`,
      "{{ $labels.slave_ip }} is {{ $value }} s behind {{ $labels.pod }}",
      "The replica acknowledges writes late, because the replica, its machine or the network is overloaded.",
    ),
    rule(
      "ValkeySlotsUncovered",
      "critical",
      "30s",
      `${of("cluster_slots_ok")} < ${SLOTS} or ${of("cluster_state")} == 0`,
      "{{ $labels.pod }} sees slots that no node serves",
      `Fewer than ${SLOTS} slots are served. Keys in the other slots cannot be read or written.`,
    ),
    rule(
      "ValkeyMemoryNearLimit",
      "warning",
      "5m",
      `${of("memory_used_bytes")} / (${of("memory_max_bytes")} > 0) > ${FULL}`,
      "{{ $labels.pod }} uses {{ $value | humanizePercentage }} of maxmemory",
      "Soon the server evicts keys or refuses writes, depending on maxmemory-policy.",
    ),
    rule(
      "ValkeyEvictions",
      "warning",
      "5m",
      `rate(${of("evicted_keys_total")}[5m]) > 0`,
      "{{ $labels.pod }} evicts {{ $value | humanize }} keys a second",
      "The data does not fit into maxmemory. This is normal for a cache; silence this alert if the server is a cache.",
    ),
    rule(
      "ValkeySaveFailed",
      "critical",
      "1m",
      `${of("rdb_last_bgsave_status")} == 0 or ${of("aof_last_write_status")} == 0 or ${of("aof_last_bgrewrite_status")} == 0`,
      "{{ $labels.pod }} could not save its data",
      "The last snapshot, or the last write or rewrite of the append-only file, failed: the volume is full, or there was too little memory for a fork.",
    ),
    rule(
      "ValkeyNotVerified",
      "warning",
      "2m",
      `${here("valkey_verified")} == 0`,
      "{{ $labels.deployment }} does not pass verification",
      "For two minutes the controller has found a problem, or could not ask the servers. Its Events on the StatefulSet, and `npm start -- status`, say which assertions do not hold.",
    ),
    rule(
      "ValkeyDataVanished",
      "critical",
      "0m",
      `min_over_time(valkey_assertion_holds{namespace="${namespace}",assertion="data-kept"}[15m]) == 0`,
      "{{ $labels.deployment }} has lost data",
      "Servers started without the data or with an older copy, or keys are gone that no server counted. Only one verification says so, because the next one compares with the data that are there then. Restore the deployment from its backup.",
    ),
    rule(
      "ValkeyCertificateEnds",
      "warning",
      "5m",
      `${here("valkey_certificate_expires_timestamp_seconds")} - time() < ${CERTIFICATE_DAYS} * 86400`,
      "A certificate of {{ $labels.deployment }} expires in {{ $value | humanizeDuration }}",
      "After that, clients refuse to connect. Put a new certificate into the Secret: servers load it without a restart.",
    ),
    rule(
      "ValkeyNotWatched",
      "warning",
      "5m",
      `time() - ${here("valkey_last_look_timestamp_seconds")} > ${STALE_LOOK_SECONDS} or ` +
        `kube_deployment_status_replicas_unavailable{namespace="${namespace}",deployment=~".+-controller"} > 0`,
      "The controller of {{ $labels.deployment }} does not verify the deployment",
      "The deployment is neither verified nor repaired, but its servers keep running. Inspect the Deployment NAME-controller and the log of its pod. Without kube-state-metrics, this alert does not fire when the controller's pod is missing.",
    ),
    rule(
      "ValkeyNotArchived",
      "warning",
      "5m",
      `${here("valkey_archive_rpo_seconds")} > ${ARCHIVE_AGE_SECONDS} or ` +
        `kube_deployment_status_replicas_unavailable{namespace="${namespace}",deployment=~".+-archive"} > 0`,
      "{{ $labels.deployment }}: new data do not reach the backup",
      "The newest data of a shard in the bucket are more than a minute old, or the pod NAME-archive is not ready. The servers go on. Look at the log of the pod. A first base of much data is also late. Without kube-state-metrics this alert does not see that the pod is missing.",
    ),
    rule(
      "ValkeyDrillFailed",
      "warning",
      "0m",
      `${here("valkey_archive_drill_failed_timestamp_seconds")} > ${here("valkey_archive_proven_timestamp_seconds")} or ` +
        `(${here("valkey_archive_drill_failed_timestamp_seconds")} unless ${here("valkey_archive_proven_timestamp_seconds")})`,
      "{{ $labels.deployment }}: the last drill of the backup failed",
      "The last archived data could not be restored for a test, or differed from the archive after the restore. `npm start -- backups s3://BUCKET/PREFIX` prints the reason. To start a drill again, call `kubectl create job --from=cronjob/NAME-drill NAME-drill-now`; the alert ends up to an hour after a drill has passed.",
    ),
    rule(
      "ValkeyBackupNotProven",
      "warning",
      "5m",
      `time() - (${here("valkey_archive_proven_timestamp_seconds")} or ${here("valkey_archive_started_timestamp_seconds")}) > ` +
        `${MISSED_DRILLS} * ${here("valkey_archive_drill_interval_seconds")}`,
      "{{ $labels.deployment }}: the backup was last proven {{ $value | humanizeDuration }} ago, or never",
      "No drill of the backup has passed for twice the interval of drills. The termination message of the last pod of the CronJob NAME-drill has the reason. To start a drill, call `kubectl create job --from=cronjob/NAME-drill NAME-drill-now`.",
    ),
  ];
}
