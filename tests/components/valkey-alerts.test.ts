/** Alerts: by promtool's unit tests where it is installed. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../support/directory";
import { alertRules } from "../../components/alert-rules";

const HAS_PROMTOOL = spawnSync("promtool", ["--version"]).error === undefined;
const SKIPPED = HAS_PROMTOOL ? "" : " (skipped: needs promtool)";
const RULES = alertRules("shop");

/** Values every 30 s, in promtool's notation: what fires the alert after its time, and what does not. */
interface Series {
  readonly metric: string;
  /** Value of the label `deployment`. @default "orders-controller" */
  readonly of?: string;
  readonly fires: string;
  readonly holds: string;
}
const SERIES: Readonly<Record<string, Series[]>> = {
  ValkeyNodeDown: [{ metric: "redis_up", fires: "0x40", holds: "1x40" }],
  ValkeyReplicaLinkDown: [{ metric: "redis_master_link_up", fires: "0x40", holds: "0x3 1x36" }],
  ValkeyReplicationLag: [{ metric: "redis_connected_slave_lag_seconds", fires: "11x40", holds: "10x40" }],
  ValkeySlotsUncovered: [
    { metric: "redis_cluster_slots_ok", fires: "16383x40", holds: "16384x40" },
    { metric: "redis_cluster_state", fires: "0x40", holds: "1x40" },
  ],
  ValkeyMemoryNearLimit: [{ metric: "redis_memory_used_bytes", fires: "91x40", holds: "90x40" }],
  ValkeyEvictions: [{ metric: "redis_evicted_keys_total", fires: "0+1x40", holds: "7x40" }],
  ValkeySaveFailed: [
    { metric: "redis_rdb_last_bgsave_status", fires: "0x40", holds: "1x40" },
    { metric: "redis_aof_last_write_status", fires: "0x40", holds: "1x40" },
    { metric: "redis_aof_last_bgrewrite_status", fires: "0x40", holds: "1x40" },
  ],
  ValkeyNotVerified: [{ metric: "valkey_verified", fires: "0x40", holds: "0x3 1x36" }],
  ValkeyDataVanished: [{ metric: "valkey_assertion_holds", fires: "1x20 0 1x19", holds: "1x40" }],
  ValkeyCertificateEnds: [
    { metric: "valkey_certificate_expires_timestamp_seconds", fires: "1209600x40", holds: "1300000x40" },
  ],
  ValkeyNotWatched: [
    { metric: "valkey_last_look_timestamp_seconds", fires: "0x40", holds: "0+30x40" },
    { metric: "kube_deployment_status_replicas_unavailable", fires: "1x40", holds: "0x40" },
  ],
  ValkeyNotArchived: [
    { metric: "valkey_archive_rpo_seconds", fires: "61x40", holds: "60x40" },
    {
      ...{ metric: "kube_deployment_status_replicas_unavailable", of: "orders-archive" },
      ...{ fires: "1x40", holds: "0x40" },
    },
  ],
  ValkeyDrillFailed: [{ metric: "valkey_archive_drill_failed_timestamp_seconds", fires: "60x40", holds: "_x40" }],
  ValkeyBackupNotProven: [
    { metric: "valkey_archive_proven_timestamp_seconds", fires: "0x40", holds: "0+30x40" },
    { metric: "valkey_archive_started_timestamp_seconds", fires: "0x40", holds: "0+30x40" },
  ],
};
const CASES = Object.entries(SERIES).flatMap(([alert, series]) => series.map((each) => ({ alert, ...each })));

/** @returns promtool's judgement of one series: empty where the alert is as expected after 18 minutes */
function judge(
  alert: string,
  metric: string,
  values: string,
  fires: boolean,
  {
    namespace = "shop",
    limit = 100,
    of = "orders-controller",
    beside = {},
  }: {
    readonly namespace?: string;
    readonly limit?: number;
    readonly of?: string | undefined;
    /** Values of further metrics. */
    readonly beside?: Readonly<Record<string, string>>;
  } = {},
): string {
  const directory = temporaryDirectory();
  const labels = `{namespace="${namespace}",pod="orders-1",slave_ip="orders-2",assertion="data-kept",deployment="${of}"}`;
  const rule = RULES.find((each) => each.alert === alert);
  writeFileSync(join(directory, "rules.json"), JSON.stringify({ groups: [{ name: "valkey", rules: RULES }] }));
  const input_series = [
    { series: `${metric}${labels}`, values },
    { series: `redis_memory_max_bytes${labels}`, values: `${limit}x40` },
    { series: `valkey_archive_drill_interval_seconds${labels}`, values: "300x40" },
    ...Object.entries(beside).map(([other, its]) => ({ series: `${other}${labels}`, values: its })),
  ];
  // Descriptions hold figures, which are not what this is about.
  const asked = `count(ALERTS{alertname="${alert}",alertstate="firing",severity="${rule?.labels.severity ?? ""}"}) or vector(0)`;
  const promql_expr_test = [{ expr: asked, eval_time: "18m", exp_samples: [{ labels: "{}", value: fires ? 1 : 0 }] }];
  const tests = [{ interval: "30s", input_series, promql_expr_test }];
  writeFileSync(
    join(directory, "tests.json"),
    JSON.stringify({ rule_files: ["rules.json"], evaluation_interval: "30s", tests }),
  );
  const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", "tests.json"], {
    cwd: directory,
    encoding: "utf8",
  });
  return status === 0 ? "" : stdout + stderr;
}

describe.skipIf(!HAS_PROMTOOL)(`alerts, as promtool judges them${SKIPPED}`, () => {
  it("are rules that Prometheus takes, without a warning", () => {
    const directory = temporaryDirectory();
    const file = join(directory, "rules.json");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "valkey", rules: RULES }] }));
    expect(execFileSync("promtool", ["check", "rules", file], { encoding: "utf8" })).toContain(
      `SUCCESS: ${RULES.length} rules found`,
    );
  });

  it.each(CASES)("$alert fires for $metric $fires, and not for $holds", ({ alert, metric, of, fires, holds }) => {
    expect(judge(alert, metric, fires, true, { of })).toBe("");
    expect(judge(alert, metric, holds, false, { of })).toBe("");
    expect(judge(alert, metric, fires, false, { of, namespace: "another" })).toBe("");
  });

  it("are not judged to hold where they do not", () => {
    expect(judge("ValkeyNodeDown", "redis_up", "1x40", true)).toContain("FAILED");
  });

  it("say that a drill failed until a later one has passed", () => {
    const failed = "valkey_archive_drill_failed_timestamp_seconds";
    const proven = (at: string): object => ({ beside: { valkey_archive_proven_timestamp_seconds: at } });
    expect(judge("ValkeyDrillFailed", failed, "60x40", true, proven("59x40"))).toBe("");
    expect(judge("ValkeyDrillFailed", failed, "60x40", false, proven("61x40"))).toBe("");
  });

  it("leave memory alone that has no limit", () => {
    expect(judge("ValkeyMemoryNearLimit", "redis_memory_used_bytes", "91x40", false, { limit: 0 })).toBe("");
  });
});

describe("alerts", () => {
  it("have a test each, a name of their own, and metrics of the namespace alone", () => {
    expect(RULES.map(({ alert }) => alert)).toEqual(Object.keys(SERIES));
    for (const { expr } of RULES)
      for (const metric of expr.match(/redis_\w+(\{[^}]*\})?/g) ?? []) expect(metric).toContain('{namespace="shop"}');
  });
});
