import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { ValkeyDashboard } from "../../components/valkey-dashboard";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { evaluateProgram, onlyResource } from "../support/pulumi/pulumi-mocks";

const CONFIG_MAP = "kubernetes:core/v1:ConfigMapPatch";

async function configMap(program: () => unknown): Promise<DeclaredResource> {
  return onlyResource(await evaluateProgram(program), CONFIG_MAP);
}
const drawn = ({ inputs }: DeclaredResource): unknown =>
  JSON.parse((inputs["data"] as Readonly<Record<string, string>>)["valkey.json"] ?? "");

describe("a dashboard", () => {
  it("needs a namespace: it lies there, under a label of Grafana's sidecar", async () => {
    const declared = await configMap(() => new ValkeyDashboard("live", { namespace: pulumi.output("shop") }));
    expect(declared.parent).toBe("valkey:index:ValkeyDashboard live");
    expect(declared.inputs["metadata"]).toMatchObject({
      name: "live",
      namespace: "shop",
      labels: { grafana_dashboard: "1" },
    });
    expect(drawn(declared)).toMatchObject({ title: "Valkey: shop", uid: "valkey-shop" });
    expect(JSON.stringify(drawn(declared))).toContain('namespace=\\"shop\\"');
  });

  it("takes a title, and labels and a namespace of another Grafana", async () => {
    const declared = await configMap(
      () =>
        new ValkeyDashboard("live", {
          namespace: "shop",
          configMapNamespace: "monitoring",
          title: "Orders",
          labels: { dashboards: "yes" },
          annotations: { grafana_folder: "Valkey" },
        }),
    );
    expect(declared.inputs["metadata"]).toMatchObject({
      namespace: "monitoring",
      labels: { dashboards: "yes" },
      annotations: { grafana_folder: "Valkey" },
    });
    expect(drawn(declared)).toMatchObject({ title: "Orders" });
  });
});
