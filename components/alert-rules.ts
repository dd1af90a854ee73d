/** Alerts on the servers of a namespace, as Prometheus takes them. Pure. */

/** A rule of a group. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** How long the expression must hold. */
  readonly for: string;
  readonly labels: { readonly severity: "critical" | "warning" };
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** Part of maxmemory from which on a server evicts keys or refuses writes soon. */
const FULL = 0.9;
/** Seconds since a replica last acknowledged. */
const MAX_LAG_SECONDS = 10;
const SLOTS = 16_384;

/**
 * The metrics are those of github.com/oliver006/redis_exporter, whose names begin with redis_ for every engine.
 * @param namespace label of the servers' metrics
 */
export function alertRules(namespace: string): AlertRule[] {
  const of = (metric: string): string => `redis_${metric}{namespace="${namespace}"}`;
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
      "The exporter beside the server has had no answer for a minute. A replica takes over where there is one.",
    ),
    rule(
      "ValkeyReplicaLinkDown",
      "warning",
      "2m",
      `${of("master_link_up")} == 0`,
      "{{ $labels.pod }} does not follow its primary",
      "The replica has had no link for two minutes. What is written now has a copy less.",
    ),
    rule(
      "ValkeyReplicationLag",
      "warning",
      "2m",
      `${of("connected_slave_lag_seconds")} > ${MAX_LAG_SECONDS}`,
      "{{ $labels.slave_ip }} is {{ $value }} s behind {{ $labels.pod }}",
      "The replica acknowledges too late: it, its machine or the network is overloaded.",
    ),
    rule(
      "ValkeySlotsUncovered",
      "critical",
      "30s",
      `${of("cluster_slots_ok")} < ${SLOTS} or ${of("cluster_state")} == 0`,
      "{{ $labels.pod }} sees slots that nobody serves",
      `Fewer than ${SLOTS} slots are served. Keys of the others cannot be read or written.`,
    ),
    rule(
      "ValkeyMemoryNearLimit",
      "warning",
      "5m",
      `${of("memory_used_bytes")} / (${of("memory_max_bytes")} > 0) > ${FULL}`,
      "{{ $labels.pod }} uses {{ $value | humanizePercentage }} of maxmemory",
      "Soon it evicts keys or refuses writes, by its maxmemory-policy.",
    ),
    rule(
      "ValkeyEvictions",
      "warning",
      "5m",
      `rate(${of("evicted_keys_total")}[5m]) > 0`,
      "{{ $labels.pod }} evicts {{ $value | humanize }} keys a second",
      "The data does not fit into maxmemory. Of a cache that is as it should be; then silence this alert.",
    ),
    rule(
      "ValkeySaveFailed",
      "critical",
      "1m",
      `${of("rdb_last_bgsave_status")} == 0 or ${of("aof_last_write_status")} == 0 or ${of("aof_last_bgrewrite_status")} == 0`,
      "{{ $labels.pod }} could not save its data",
      "The last snapshot, write or rewrite of the append-only file failed: the volume is full, or memory was too short for a fork.",
    ),
  ];
}
