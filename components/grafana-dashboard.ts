/**
 * The Grafana dashboard of a namespace: live metrics of the servers, and the results of measurements. Loads the SDK of
 * Grafana, which components load only when they are used.
 */
import { VizLegendOptionsBuilder, LegendDisplayMode, LegendPlacement } from "@grafana/grafana-foundation-sdk/common";
import type { DataSourceRef } from "@grafana/grafana-foundation-sdk/common";
import { DashboardBuilder, DatasourceVariableBuilder, RowBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

const DATASOURCE: DataSourceRef = { type: "prometheus", uid: "${datasource}" };

interface Graph {
  readonly title: string;
  readonly description: string;
  /** Grafana's name of the unit. */
  readonly unit: string;
  /** Expressions and the legends of their lines. */
  readonly queries: readonly (readonly [expression: string, legend: string])[];
}

/** `sum by (pod) (rate(redis_…{namespace="…"}[$__rate_interval]))` */
const rate = (metric: string, namespace: string, by: string): string =>
  `sum by (${by}) (rate(redis_${metric}{namespace="${namespace}"}[$__rate_interval]))`;

/** Metrics of github.com/oliver006/redis_exporter, whose names begin with redis_ for every engine. */
function liveGraphs(namespace: string): Graph[] {
  const only = `{namespace="${namespace}"}`;
  const hits = rate("keyspace_hits_total", namespace, "pod");
  const misses = rate("keyspace_misses_total", namespace, "pod");
  return [
    {
      title: "Operations by server",
      description: "A primary of a cluster that has more than its share is a hot shard.",
      unit: "ops",
      queries: [[rate("commands_processed_total", namespace, "pod"), "{{pod}}"]],
    },
    {
      title: "Operations by command",
      description: "All servers together.",
      unit: "ops",
      queries: [[rate("commands_total", namespace, "cmd"), "{{cmd}}"]],
    },
    {
      title: "Time per command",
      description: "Spent executing; waiting and the network are not in it.",
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
      description: "Cores. Idle io-threads spin, so this is not load where there are several.",
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
      description: "Beside the limit where one is set.",
      unit: "bytes",
      queries: [
        [`redis_memory_used_bytes${only}`, "{{pod}}"],
        [`redis_memory_max_bytes${only} > 0`, "{{pod}} limit"],
      ],
    },
    {
      title: "Keys by server",
      description: "Of all databases.",
      unit: "short",
      queries: [[`sum by (pod) (redis_db_keys${only})`, "{{pod}}"]],
    },
    {
      title: "Hit ratio",
      description: "Part of the reads that find their key: misses are faster, and other work.",
      unit: "percentunit",
      queries: [[`${hits} / (${hits} + ${misses})`, "{{pod}}"]],
    },
    {
      title: "Replication lag",
      description: "Seconds since a replica acknowledged, by its primary.",
      unit: "s",
      queries: [[`redis_connected_slave_lag_seconds${only}`, "{{pod}} → {{slave_ip}}"]],
    },
    {
      title: "Links to primaries that are down",
      description: "Replicas that do not follow.",
      unit: "short",
      queries: [[`redis_master_link_up${only} == 0`, "{{pod}}"]],
    },
    {
      title: "Clients",
      description: "Connected.",
      unit: "short",
      queries: [[`redis_connected_clients${only}`, "{{pod}}"]],
    },
    {
      title: "Network",
      description: "Of the servers' own counting.",
      unit: "Bps",
      queries: [
        [rate("net_input_bytes_total", namespace, "pod"), "{{pod}} in"],
        [rate("net_output_bytes_total", namespace, "pod"), "{{pod}} out"],
      ],
    },
    {
      title: "Evictions and refused connections",
      description: "None is as it should be.",
      unit: "ops",
      queries: [
        [rate("evicted_keys_total", namespace, "pod"), "{{pod}} evicted"],
        [rate("rejected_connections_total", namespace, "pod"), "{{pod}} refused"],
      ],
    },
  ];
}

/** Metrics of results.om. Each graph shows the last run before the end of the time range. */
function measuredGraphs(): Graph[] {
  const last = (metric: string): string => `last_over_time(valkey_measured_${metric}[90d])`;
  return [
    {
      title: "Measured throughput",
      description: "Median over the rounds, with its interval, of the last run.",
      unit: "ops",
      queries: [
        [last("requests_per_second"), "{{test}} {{deployment}} -P {{pipeline}}"],
        [last("requests_per_second_low"), "{{test}} {{deployment}} -P {{pipeline}} low"],
        [last("requests_per_second_high"), "{{test}} {{deployment}} -P {{pipeline}} high"],
      ],
    },
    {
      title: "Measured latency",
      description: "Of a whole pipeline, and of an open loop from the intended time; by quantile.",
      unit: "s",
      queries: [[last("latency_seconds"), "{{test}} {{deployment}} -P {{pipeline}} {{quantile}}"]],
    },
    {
      title: "Measured capacity",
      description:
        "The highest offered load within the objective, and the knee: above it latency rises faster than load.",
      unit: "ops",
      queries: [
        [last("capacity_requests_per_second"), "{{workload}} {{objective}} {{deployment}}"],
        [last("knee_requests_per_second"), "{{workload}} {{deployment}} knee"],
      ],
    },
    {
      title: "Ratios of studies",
      description: "One cell over another, with the 95 % interval.",
      unit: "short",
      queries: [
        [last("ratio"), "{{metric}} {{test}}: {{other}} / {{base}}"],
        [last("ratio_low"), "{{metric}} {{test}}: {{other}} / {{base}} low"],
        [last("ratio_high"), "{{metric}} {{test}}: {{other}} / {{base}} high"],
      ],
    },
    {
      title: "Warnings",
      description: "Reasons not to take a measured figure at its word.",
      unit: "short",
      queries: [
        [`sum by (code) (${last("warning")}) > 0`, "{{code}}"],
        [`sum by (code) (${last("capacity_warning")}) > 0`, "{{code}} of capacities"],
        [`${last("reference_load_moved")} > 0`, "the reference load moved"],
      ],
    },
  ];
}

/** Grafana has 24 columns: three panels side by side. */
const WIDTH = 8;
const HEIGHT = 8;

/** The dashboard as Grafana imports it. Pure. @param title @default `Valkey: NAMESPACE` */
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
