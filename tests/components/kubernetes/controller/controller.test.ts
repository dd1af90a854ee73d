/** The objects of a controller, as the component declares them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ValkeyCluster } from "../../../../components/valkey-cluster";
import { controllerProblems } from "../../../../components/kubernetes/controller/controller-problems";
import type { ControllerArgs } from "../../../../components/kubernetes/arguments";
import type { ControllerSettings } from "../../../../controller/pod-settings";
import { readControllerSettings } from "../../../../controller/pod-settings";
import { checksum } from "../../../../lib/checksum";
import type { ServerSettings } from "../../../../valkey/settings/settings";
import type { KubernetesObject } from "../../../support/kubernetes/kubernetes-objects";
import { renderObjects } from "../../../support/kubernetes/kubernetes-objects";

const NAME = "orders-controller";

function objectsOf(
  controller: ControllerArgs | boolean | undefined,
  settings: ServerSettings = {},
): Promise<KubernetesObject[]> {
  return renderObjects(
    () =>
      new ValkeyCluster("orders", {
        ...{ namespace: "shop", shape: { primaries: 3, replicasPerPrimary: 1 }, zones: ["a", "b", "c"] },
        ...{ tls: { secretName: "certificate" }, controller, access: { clients: [{ podSelector: {} }] } },
        settings,
      }),
  );
}

/** The parts of objects that these tests read. */
interface Pod {
  readonly containers: readonly [
    {
      readonly securityContext: unknown;
      readonly env: readonly { readonly name: string; readonly value: string }[];
      readonly command: readonly string[];
    },
  ];
  readonly tolerations: readonly { readonly key: string; readonly tolerationSeconds: number }[];
  readonly volumes: readonly { readonly name: string; readonly secret?: unknown }[];
}
interface Deployment {
  readonly spec: { readonly replicas: number; readonly strategy: unknown; readonly template: { readonly spec: Pod } };
}
interface Role {
  readonly rules: readonly {
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

function named(objects: readonly KubernetesObject[], kind: string, name = NAME): unknown {
  const found = objects.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

describe("the controller of a component", () => {
  it("starts with the program of its ConfigMap", async () => {
    const objects = await objectsOf({});
    const packed = objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name.startsWith(`${NAME}-`));
    const { binaryData } = packed as unknown as { readonly binaryData: Readonly<Record<string, string>> };
    const directory = mkdtempSync(join(tmpdir(), "controller-"));
    for (const [file, content] of Object.entries(binaryData))
      writeFileSync(join(directory, file), Buffer.from(content, "base64"));
    const settings = join(directory, "settings.json");
    writeFileSync(settings, "edited by hand");
    const [container] = (named(objects, "Deployment") as Deployment).spec.template.spec.containers;
    const command = container.command.slice(1, -1).map((each) => each.replaceAll("/controller/program", directory));
    const { stdout, status } = spawnSync(process.execPath, [...command, settings], { encoding: "utf8" });
    rmSync(directory, { recursive: true });
    expect(stdout).toContain("the ConfigMap was edited by hand");
    expect(status).toBe(1);
  });

  it("is one pod at a time with the rights to look, and to change budgets if it repairs", async () => {
    const objects = await objectsOf({});
    const { spec } = named(objects, "Deployment") as Deployment;
    expect(spec).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
    const { tolerations } = spec.template.spec;
    expect(tolerations.map(({ key, tolerationSeconds }) => [key, tolerationSeconds])).toEqual([
      ["node.kubernetes.io/not-ready", 30],
      ["node.kubernetes.io/unreachable", 30],
    ]);
    const [container] = spec.template.spec.containers;
    expect(container.securityContext).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
    const rightsIn = (from: readonly KubernetesObject[]): string[] =>
      (named(from, "Role") as Role).rules.flatMap(({ resources, verbs }) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
      );
    const rights = rightsIn(objects);
    expect(rightsIn(await objectsOf({ repair: false })).filter((each) => !/^(get|list|watch) /.test(each))).toEqual([
      "create events",
    ]);
    expect(rights.filter((each) => each.includes("secrets"))).toEqual([]);
    expect(rights.filter((each) => each.startsWith("delete"))).toEqual(["delete poddisruptionbudgets"]);
    expect((named(objects, "ClusterRole", `shop:${NAME}`) as Role).rules).toEqual([
      { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
    ]);
    const tls = spec.template.spec.volumes.find(({ name }) => name === "tls");
    expect(tls?.secret).toEqual({ secretName: "certificate", items: [{ key: "ca.crt", path: "ca.crt" }] });
  });

  it("may delete only the pods and claims of its own deployment, and only with consent", async () => {
    const objects = await objectsOf({ repair: true, replaceLostMachinesAfterSeconds: 300 });
    const pods = ["orders-0", "orders-1", "orders-2", "orders-3", "orders-4", "orders-5"];
    const deleting = (named(objects, "Role") as Role).rules.filter(({ verbs }) => verbs.includes("delete"));
    expect(deleting.map(({ resources, resourceNames }) => [resources, resourceNames])).toEqual([
      [["poddisruptionbudgets"], undefined],
      [["pods"], pods],
      [["persistentvolumeclaims"], pods.map((pod) => `data-${pod}`)],
    ]);
    expect((named(objects, "ClusterRole", `shop:${NAME}`) as Role).rules).toEqual([
      { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["persistentvolumes"], verbs: ["get"] },
    ]);
    const { data } = named(objects, "ConfigMap") as { readonly data: { readonly "settings.json": string } };
    expect(JSON.parse(data["settings.json"])).toMatchObject({ replaceLostMachinesAfterSeconds: 300 });
  });

  it("gets the consent to replace pods only with repairs and replicas, and after a minute at least", async () => {
    const consent = (seconds: number, repair = true): Promise<unknown> =>
      objectsOf({ repair, replaceLostMachinesAfterSeconds: seconds });
    await expect(consent(59)).rejects.toThrow(
      "replaceLostMachinesAfterSeconds: it is 59; expected 60 to 86400 seconds",
    );
    await expect(consent(0)).rejects.toThrow("it is 0; expected 60");
    await expect(consent(300, false)).rejects.toThrow("controller.replaceLostMachinesAfterSeconds: needs repair: true");
    const bare = { mode: "cluster" as const, replicasPerPrimary: 0, keepsData: true };
    expect(controllerProblems({ replaceLostMachinesAfterSeconds: 300 }, bare)).toEqual([
      { field: "replaceLostMachinesAfterSeconds", reason: expect.stringContaining("needs replicas") as string },
    ]);
    expect(controllerProblems({ repair: false }, bare)).toEqual([]);
  });

  it("reads settings that it refuses when somebody has edited them", async () => {
    const objects = await objectsOf({ everySeconds: 60, repair: true });
    const { data } = named(objects, "ConfigMap") as { readonly data: { readonly "settings.json": string } };
    const text = data["settings.json"];
    const expected: Partial<ControllerSettings> = { everySeconds: 60, repair: true };
    expect(readControllerSettings(text, checksum(text))).toMatchObject({
      ...expected,
      target: { name: "orders", lease: NAME, inside: { caFile: "/valkey/tls/ca.crt" } },
    });
    const [container] = (named(objects, "Deployment") as Deployment).spec.template.spec.containers;
    expect(container.env).toEqual([{ name: "SETTINGS_CHECKSUM", value: checksum(text) }]);
    expect(readControllerSettings(text, checksum(text))).toMatchObject({ repairSettings: false });
    expect(JSON.parse(text)).toHaveProperty("memoryLimit");
    expect(() => readControllerSettings(text.replace("60", "61"), checksum(text))).toThrow(/edited by hand/);
  });

  it("fits into the ConfigMap of its program", async () => {
    const objects = await objectsOf({});
    const program = objects.find(({ metadata }) => metadata.name.startsWith(`${NAME}-`)) as unknown as {
      readonly immutable: boolean;
      readonly binaryData: Readonly<Record<string, string>>;
    };
    expect(program.immutable).toBe(true);
    const bytes = Object.values(program.binaryData).map((text) => Buffer.from(text, "base64").length);
    expect(bytes).toHaveLength(1);
    // The API server accepts 1 MiB.
    expect(bytes[0]).toBeLessThan(2 ** 20);
  });

  it("may connect to servers whose clients are limited", async () => {
    const objects = await objectsOf({});
    interface Policy {
      readonly spec: { readonly ingress: readonly { readonly from?: readonly unknown[] }[] };
    }
    const [clients] = (named(objects, "NetworkPolicy", "orders") as Policy).spec.ingress;
    const matchLabels = {
      "app.kubernetes.io/name": "valkey-controller",
      "app.kubernetes.io/instance": "orders",
    };
    expect(clients?.from).toContainEqual({ podSelector: { matchLabels } });
  });

  it("looks at most every five seconds, and repairs no settings if it repairs nothing", async () => {
    const settings = objectsOf({ repair: false, repairSettings: true });
    await expect(settings).rejects.toThrow("controller.repairSettings: needs repair: true");
    await expect(objectsOf({ everySeconds: 1 })).rejects.toThrow("controller.everySeconds: it is 1; expected 5 to 120");
  });

  it("may connect to the API server at the given ports", async () => {
    interface Policy {
      readonly spec: {
        readonly egress: readonly { readonly to?: unknown; readonly ports: { readonly port: number }[] }[];
      };
    }
    const portsIn = async (args: ControllerArgs): Promise<(number | undefined)[][]> =>
      (named(await objectsOf(args), "NetworkPolicy", NAME) as Policy).spec.egress
        .filter(({ to }) => to === undefined)
        .map(({ ports }) => ports.map(({ port }) => port));
    expect(await portsIn({})).toContainEqual([443, 6443]);
    expect(await portsIn({ apiServerPorts: [8443] })).toContainEqual([8443]);
  });

  it("is there unless it is turned off", async () => {
    const isController = ({ kind, metadata }: KubernetesObject): boolean =>
      kind === "Deployment" && metadata.name === NAME;
    expect((await objectsOf(undefined)).filter(isController)).toHaveLength(1);
    const objects = await objectsOf(false);
    expect(objects.filter(({ metadata }) => metadata.name.includes("controller"))).toEqual([]);
  });

  it("may see all machines if it may let replicas take over without votes", async () => {
    const objects = await objectsOf({ onLostMajority: "takeover" });
    expect((named(objects, "ClusterRole", `shop:${NAME}`) as Role).rules).toEqual([
      { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"] },
    ]);
  });

  it.each([
    [{ onLostMajority: "takeover", repair: false }, {}, "takeover needs repair: true"],
    [{ onLostMajority: "takeover" }, { save: "" }, "takeover needs volumes with an append-only file or snapshots"],
  ] as const)("is refused with arguments that contradict each other: %j", async (controller, settings, reason) => {
    await expect(objectsOf(controller, settings)).rejects.toThrow(`controller.onLostMajority: ${reason}`);
  });
});
