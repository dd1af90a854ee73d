/** Loads Grafana's SDK, so `ValkeyDashboard` imports this file only when a program declares a dashboard. */
import { VizLegendOptionsBuilder, LegendDisplayMode, LegendPlacement } from "@grafana/grafana-foundation-sdk/common";
import type { DataSourceRef } from "@grafana/grafana-foundation-sdk/common";
import { DashboardBuilder, DatasourceVariableBuilder, RowBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

const DATASOURCE: DataSourceRef = { type: "prometheus", uid: "${datasource}" };

interface Graph {
  readonly title: string;
  readonly description: string;
  readonly unit: string;
  /** PromQL expressions, each with the legend of its lines. */
  readonly queries: readonly (readonly [expression: string, legend: string])[];
}

/** PromQL of a summed rate, such as `sum by (pod) (rate(redis_…{namespace="…"}[$__rate_interval]))`. */
const rate = (metric: string, namespace: string, by: string): string =>
  `sum by (${by}) (rate(redis_${metric}{namespace="${namespace}"}[$__rate_interval]))`;

/** From github.com/oliver006/redis_exporter, whose metrics begin with redis_ for every engine. */
function liveGraphs(namespace: string): Graph[] {
  const only = `{namespace="${namespace}"}`;
  const hits = rate("keyspace_hits_total", namespace, "pod");
  const misses = rate("keyspace_misses_total", namespace, "pod");
  return [
    {
      title: "Operations by server",
      description: "In a cluster, a primary with more than its share of the operations is a hot shard.",
      unit: "ops",
      queries: [[rate("commands_processed_total", namespace, "pod"), "{{pod}}"]],
    },
    {
      title: "Operations by command",
      description: "Sum over all servers.",
      unit: "ops",
      queries: [[rate("commands_total", namespace, "cmd"), "{{cmd}}"]],
    },
    {
      title: "Time per command",
      description: "Time to execute a command, without waiting and without the network.",
      unit: "s",
      queries: [
        [
          `${rate("commands_duration_seconds_total", namespace, "cmd")} / ${rate("commands_total", namespace, "cmd")}`,
          "{{cmd}}",
        ],
      ],
    },
    {
      title: "CPU by server",
      description: "Cores in use. Idle io-threads spin, so with several io-threads this is not the load.",
      unit: "short",
      queries: [
        [
          `${rate("cpu_sys_seconds_total", namespace, "pod")} + ${rate("cpu_user_seconds_total", namespace, "pod")}`,
          "{{pod}}",
        ],
      ],
    },
    {
      title: "Memory by server",
      description: "Memory in use, and maxmemory if it is set.",
      unit: "bytes",
      queries: [
        [`redis_memory_used_bytes${only}`, "{{pod}}"],
        [`redis_memory_max_bytes${only} > 0`, "{{pod}} limit"],
      ],
    },
    {
      title: "Keys by server",
      description: "Number of keys in all databases.",
      unit: "short",
      queries: [[`sum by (pod) (redis_db_keys${only})`, "{{pod}}"]],
    },
    {
      title: "Hit ratio",
      description: "Part of the reads that find their key. A read that misses is faster, because it does less work.",
      unit: "percentunit",
      queries: [[`${hits} / (${hits} + ${misses})`, "{{pod}}"]],
    },
    {
      title: "Replication lag",
      description: "Seconds since the last acknowledgement of a replica, as its primary reports it.",
      unit: "s",
      queries: [[`redis_connected_slave_lag_seconds${only}`, "{{pod}} → {{slave_ip}}"]],
    },
    {
      title: "Links to primaries that are down",
      description: "Replicas that do not follow their primary.",
      unit: "short",
      queries: [[`redis_master_link_up${only} == 0`, "{{pod}}"]],
    },
    {
      title: "Clients",
      description: "Number of connected clients.",
      unit: "short",
      queries: [[`redis_connected_clients${only}`, "{{pod}}"]],
    },
    {
      title: "Network",
      description: "Bytes per second, as the servers count them.",
      unit: "Bps",
      queries: [
        [rate("net_input_bytes_total", namespace, "pod"), "{{pod}} in"],
        [rate("net_output_bytes_total", namespace, "pod"), "{{pod}} out"],
      ],
    },
    {
      title: "Evictions and refused connections",
      description: "Both are 0 in a healthy deployment. A cache may evict keys.",
      unit: "ops",
      queries: [
        [rate("evicted_keys_total", namespace, "pod"), "{{pod}} evicted"],
        [rate("rejected_connections_total", namespace, "pod"), "{{pod}} refused"],
      ],
    },
  ];
}

/** Without controllers, these graphs are empty. */
function verifiedGraphs(namespace: string): Graph[] {
  const only = `{namespace="${namespace}"}`;
  return [
    {
      title: "Verified",
      description: "1 if all assertions about a deployment held in the controller's last verification.",
      unit: "short",
      queries: [[`valkey_verified${only}`, "{{deployment}}"]],
    },
    {
      title: "Assertions that do not hold",
      description: "Names of the assertions, by deployment.",
      unit: "short",
      queries: [[`valkey_assertion_holds${only} == 0`, "{{deployment}} {{assertion}}"]],
    },
    {
      title: "Failovers and repairs",
      description:
        "Number per hour. A failover counts if the primary of a shard changed between two verifications. Repairs are shown by outcome.",
      unit: "short",
      queries: [
        [`increase(valkey_failovers_total${only}[1h])`, "{{deployment}} failovers"],
        [`increase(valkey_repairs_total${only}[1h])`, "{{deployment}} repairs {{outcome}}"],
      ],
    },
  ];
}

/** Without backups, these graphs are empty. */
function archivedGraphs(namespace: string): Graph[] {
  const only = `{namespace="${namespace}"}`;
  return [
    {
      title: "Age of the newest data in the backup",
      description:
        "Writes of this time would be lost with the whole deployment. Below one second in a healthy archive.",
      unit: "s",
      queries: [[`valkey_archive_rpo_seconds${only}`, "{{deployment}} {{shard}}"]],
    },
    {
      title: "Backup: bytes written and waiting",
      description: "Bytes that the bucket takes per second, and bytes that wait for it in the spool.",
      unit: "bytes",
      queries: [
        [
          `sum by (deployment) (rate(valkey_archive_written_bytes_total${only}[$__rate_interval]))`,
          "{{deployment}} written",
        ],
        [`valkey_archive_spooled_bytes${only}`, "{{deployment}} waiting"],
      ],
    },
    {
      title: "Backup: sets and interruptions",
      description: "Number of sets in the bucket, hours since the last base, and interruptions per hour by kind.",
      unit: "short",
      queries: [
        [`valkey_archive_sets${only}`, "{{deployment}} sets"],
        [`(time() - valkey_archive_last_base_timestamp_seconds${only}) / 3600`, "{{deployment}} {{shard}} base, h"],
        [`increase(valkey_archive_errors_total${only}[1h])`, "{{deployment}} {{kind}}"],
      ],
    },
    {
      title: "Backup: time since the last proof",
      description: "Time since the last restore whose comparison with the archive passed, such as a drill.",
      unit: "s",
      queries: [[`time() - valkey_archive_proven_timestamp_seconds${only}`, "{{deployment}}"]],
    },
  ];
}

/** Each graph shows the last run before the end of the dashboard's time range. */
function measuredGraphs(): Graph[] {
  const last = (metric: string): string => `last_over_time(valkey_measured_${metric}[90d])`;
  return [
    {
      title: "Measured throughput",
      description: "Median over the rounds of the last run, with its interval.",
      unit: "ops",
      queries: [
        [last("requests_per_second"), "{{test}} {{deployment}} -P {{pipeline}}"],
        [last("requests_per_second_low"), "{{test}} {{deployment}} -P {{pipeline}} low"],
        [last("requests_per_second_high"), "{{test}} {{deployment}} -P {{pipeline}} high"],
      ],
    },
    {
      title: "Measured latency",
      description:
        "Latency by quantile: of a whole pipeline in a closed loop, from the intended time of a request in an open loop.",
      unit: "s",
      queries: [[last("latency_seconds"), "{{test}} {{deployment}} -P {{pipeline}} {{quantile}}"]],
    },
    {
      title: "Measured capacity",
      description:
        "The highest offered load within the objective, and the knee. Above the knee, latency rises faster than the load.",
      unit: "ops",
      queries: [
        [last("capacity_requests_per_second"), "{{workload}} {{objective}} {{deployment}}"],
        [last("knee_requests_per_second"), "{{workload}} {{deployment}} knee"],
      ],
    },
    {
      title: "Ratios of studies",
      description: "One treatment over another, with the 95 % interval.",
      unit: "short",
      queries: [
        [last("ratio"), "{{metric}} {{test}}: {{other}} / {{base}}"],
        [last("ratio_low"), "{{metric}} {{test}}: {{other}} / {{base}} low"],
        [last("ratio_high"), "{{metric}} {{test}}: {{other}} / {{base}} high"],
      ],
    },
    {
      title: "Warnings",
      description: "Reasons not to trust a measured figure.",
      unit: "short",
      queries: [
        [`sum by (code) (${last("warning")}) > 0`, "{{code}}"],
        [`sum by (code) (${last("capacity_warning")}) > 0`, "{{code}} of capacities"],
        [`${last("reference_load_moved")} > 0`, "the reference load moved"],
      ],
    },
  ];
}

/** Grafana has 24 columns, so three panels fit side by side. */
const WIDTH = 8;
const HEIGHT = 8;

/** @default `Valkey: NAMESPACE` */
export function grafanaDashboard(namespace: string, title = `Valkey: ${namespace}`): object {
  // oxlint-disable-next-line typescript/no-deprecated -- Grafana before 12 does not read what replaces it
  const builder = new DashboardBuilder(title)
    .uid(`valkey-${namespace}`.slice(0, 40))
    .tags(["valkey"])
    .refresh("30s")
    .time({ from: "now-1h", to: "now" })
    .timezone("browser")
    .withVariable(new DatasourceVariableBuilder("datasource").type("prometheus").label("Data source"))
    .withRow(new RowBuilder("Servers"));
  for (const graph of liveGraphs(namespace)) builder.withPanel(panelOf(graph));
  builder.withRow(new RowBuilder("Verified"));
  for (const graph of verifiedGraphs(namespace)) builder.withPanel(panelOf(graph));
  builder.withRow(new RowBuilder("Backup"));
  for (const graph of archivedGraphs(namespace)) builder.withPanel(panelOf(graph));
  builder.withRow(new RowBuilder("Measured"));
  for (const graph of measuredGraphs()) builder.withPanel(panelOf(graph));
  return builder.build();
}

function panelOf({ title, description, unit, queries }: Graph): PanelBuilder {
  const legend = new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.List)
    .placement(LegendPlacement.Bottom)
    .showLegend(true);
  const panel = new PanelBuilder()
    .title(title)
    .description(description)
    .unit(unit)
    .datasource(DATASOURCE)
    .legend(legend)
    .span(WIDTH)
    .height(HEIGHT)
    .fillOpacity(0)
    .lineWidth(2);
  for (const [index, [expression, legendFormat]] of queries.entries())
    panel.withTarget(
      new DataqueryBuilder()
        .refId(String.fromCharCode(65 + index))
        .expr(expression)
        .legendFormat(legendFormat)
        .datasource(DATASOURCE),
    );
  return panel;
}
