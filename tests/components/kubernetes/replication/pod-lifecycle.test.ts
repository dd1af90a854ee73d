import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { completeStatefulSet } from "../../../../components/kubernetes/replication/pod-lifecycle";

const exporter = { name: "metrics", image: "exporter" };
const server = { name: "shop", command: ["valkey-server"], args: ["/data/conf/valkey.conf"] };
const TEMPLATE = { metadata: { labels: {} }, spec: { volumes: [], containers: [server, exporter] } };

async function completed(isWatched: boolean, type: string, template: object = TEMPLATE): Promise<unknown> {
  const resource = new pulumi.ComponentResource("test:index:None", "none");
  const args = { custom: true, type, name: "shop", props: { spec: { replicas: 3, template } }, opts: {}, resource };
  const result = await completeStatefulSet(isWatched)(args);
  if (result === undefined) return undefined;
  const spec = await new Promise((resolve) => pulumi.output(result.props["spec"]).apply(resolve));
  return { spec, ignoreChanges: (result.opts as pulumi.CustomResourceOptions).ignoreChanges };
}

describe("the chart's StatefulSet", () => {
  const started = { name: "shop", args: ["valkey-server", "/data/conf/valkey.conf"] };
  const pod = { volumes: [], terminationGracePeriodSeconds: 180 };

  it("starts by the image's entry point, has time to save its data, and volumes that are not its own to change", async () => {
    expect(await completed(false, "kubernetes:apps/v1:StatefulSet")).toEqual({
      spec: {
        replicas: 3,
        template: { ...TEMPLATE, spec: { ...pod, containers: [started, exporter] } },
      },
      ignoreChanges: ["spec.volumeClaimTemplates"],
    });
    expect(await completed(true, "kubernetes:core/v1:Service")).toBe(undefined);
  });

  it("keeps a server that a chart leaves to the image's own command", async () => {
    const bare = { ...TEMPLATE, spec: { ...TEMPLATE.spec, containers: [{ name: "shop" }] } };
    expect(await completed(false, "kubernetes:apps/v1:StatefulSet", bare)).toMatchObject({
      spec: { template: { spec: { containers: [{ name: "shop" }] } } },
    });
  });

  it("lets a replica take over before a pod stops, where Sentinels watch", async () => {
    const command = ["sh", "/valkey/scripts/hand-over-replication.sh", "30"];
    expect(await completed(true, "kubernetes:apps/v1:StatefulSet")).toMatchObject({
      spec: {
        template: {
          spec: { ...pod, containers: [{ name: "shop", lifecycle: { preStop: { exec: { command } } } }, exporter] },
        },
      },
    });
  });
});
