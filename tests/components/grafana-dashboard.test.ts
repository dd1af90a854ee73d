import { describe, expect, it } from "vitest";
import { z } from "zod";
import { formatOpenMetrics } from "../../benchmarks/results/formats/open-metrics";
import { ArchiveMetrics } from "../../backup/archiver/archiver";
import { LookMetrics } from "../../operations/inspection/metrics";
import { grafanaDashboard } from "../../components/grafana-dashboard";
import { capacityRecord, recordAt, results, studyRecord } from "../support/benchmarks/records";

const panelSchema = z.object({
  type: z.string(),
  title: z.string().optional(),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }).optional(),
  targets: z
    .array(z.object({ expr: z.string(), refId: z.string(), datasource: z.object({ uid: z.string() }) }))
    .optional(),
});
const dashboard = z
  .object({
    uid: z.string(),
    title: z.string(),
    panels: z.array(panelSchema),
    templating: z.object({ list: z.array(z.object({ name: z.string() })) }),
  })
  .parse(JSON.parse(JSON.stringify(grafanaDashboard("valkey-prod"))));
const graphs = dashboard.panels.filter(({ type }) => type === "timeseries");

describe("the Grafana dashboard", () => {
  it("is of one namespace, with a data source to choose", () => {
    expect(dashboard).toMatchObject({ uid: "valkey-valkey-prod", title: "Valkey: valkey-prod" });
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual(["datasource"]);
    for (const { targets = [] } of graphs)
      for (const { expr, datasource } of targets) {
        expect(datasource.uid).toBe("${datasource}");
        for (const metric of expr.match(/redis_\w+(\{[^}]*\})?/g) ?? [])
          expect(metric).toContain('{namespace="valkey-prod"}');
      }
  });

  it("asks for what controllers find by the names that they publish", async () => {
    const metrics = new LookMetrics();
    const look = { deployment: "d", at: new Date(0).toISOString(), since: "", seconds: 1, pass: true, remarks: [] };
    metrics.record({ ...look, assertions: [], primaries: {} }, undefined);
    const text = await metrics.text();
    const asked = graphs.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) => expr.match(/valkey_(?!measured|archive)\w+/g) ?? []),
    );
    expect(asked).toHaveLength(4);
    for (const name of asked) expect(text).toContain(`# TYPE ${name} `);
  });

  it("asks for archives by the names that they publish", async () => {
    const text = await new ArchiveMetrics("d", () => ({ safeAt: new Map(), spooledBytes: 0 })).text();
    const asked = graphs.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) => expr.match(/valkey_archive\w+/g) ?? []),
    );
    expect(asked).toHaveLength(7);
    for (const name of asked) expect(text).toContain(`# TYPE ${name} `);
  });

  it("has panels that lie side by side, none upon another", () => {
    expect(graphs.length).toBeGreaterThan(12);
    const places = graphs.map(({ gridPos }) => gridPos ?? { x: -1, y: -1, w: 0, h: 0 });
    for (const { x, y, w } of places) expect([x >= 0, y >= 0, x + w <= 24]).toEqual([true, true, true]);
    for (const [index, a] of places.entries()) {
      for (const b of places.slice(index + 1))
        expect(a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h).toBe(false);
    }
  });

  it("asks for measured figures by the names that results.om has", () => {
    const text = formatOpenMetrics(
      results(
        [1, 2, 3].map((round) => ({
          ...recordAt("cluster", round, 1000),
          warnings: [{ code: "neighbour" as const, text: "others" }],
        })),
        { capacities: [capacityRecord({ knee: 900 })], study: studyRecord("greater") },
      ),
    );
    const exported = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const asked = graphs.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) => expr.match(/valkey_measured_\w+/g) ?? []),
    );
    expect(asked.length).toBeGreaterThan(5);
    expect(asked).toContain("valkey_measured_capacity_requests_per_second");
    for (const name of asked) expect(exported).toContain(name);
  });
});
