/** Arguments of components from programs in other languages, and the components that they make. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { BadInput, problemText } from "../../../lib/errors";
import { ROOT, VERSION } from "../../../lib/system/package";
import {
  type PackageSchema,
  type PropertySpec,
  type ValueSpec,
  checkedArguments,
  ComponentProvider,
  readPackageSchema,
} from "../../../components/plugin/component-provider";
import { loadComponent } from "../../../components/plugin/components";
import { evaluateProgram, onlyResource, outputValue } from "../../support/pulumi/pulumi-mocks";
import { expectReviewed } from "../../support/reviewed";

const CLUSTER = "valkey:index:ValkeyCluster";
const REPLICATION = "valkey:index:ValkeyReplication";
const schema = readPackageSchema();
const shape = { primaries: 3, replicasPerPrimary: 1 };
const zones = ["a", "b", "c"];

/** A schema with an object that has several forms. */
const FORMS: PackageSchema = {
  types: {
    Source: {
      type: "object",
      properties: {
        from: { $ref: "#/types/SourceFrom", description: "" },
        url: { type: "string", description: "" },
        version: { type: "string", description: "" },
        path: { type: "string", description: "" },
      },
      required: ["from"],
      language: {
        valkey: {
          forms: {
            by: "from",
            of: {
              repository: { required: ["url", "version"], optional: [] },
              path: { required: ["path"], optional: [] },
            },
          },
        },
      },
    },
    SourceFrom: { type: "string", enum: [{ value: "repository" }, { value: "path" }] },
  },
  resources: {
    Program: {
      inputProperties: { source: { $ref: "#/types/Source", description: "" } },
      requiredInputs: ["source"],
      properties: {},
    },
  },
};

/** Sorted; empty where the arguments are right. @param of the schema of the package */
async function problemsOf(type: string, inputs: pulumi.Inputs, of = schema): Promise<readonly string[]> {
  const spec = of.resources[type];
  if (spec === undefined) throw new Error(`no ${type}`);
  try {
    await checkedArguments(of, spec, inputs);
    return [];
  } catch (error) {
    if (error instanceof BadInput) return error.problems.map(problemText).sort();
    throw error;
  }
}

describe("the schema of the components", () => {
  it("refers to types that it has, and has a component for each of its resources", async () => {
    const references = [...JSON.stringify(schema).matchAll(/"#\/types\/([^"]+)"/g)].map(([, token = ""]) => token);
    expect(references.filter((token) => schema.types[token] === undefined)).toEqual([]);
    expect(Object.keys(schema.types).filter((token) => !references.includes(token))).toEqual([]);
    for (const type of Object.keys(schema.resources))
      expect(await loadComponent(type.split(":").at(-1) ?? ""), type).toBeTypeOf("function");
  });

  it("has the types that the components have in the state", () => {
    const sources = readdirSync(join(ROOT, "components"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => readFileSync(join(ROOT, "components", path), "utf8"));
    const types = sources.flatMap((text) =>
      [...text.matchAll(/super\(\s*"(valkey:index:\w+)"/g)].map(([, type = ""]) => type),
    );
    expect(Object.keys(schema.resources).filter((type) => !types.includes(type))).toEqual([]);
  });

  it("has names that every language can declare", () => {
    const named = (specs: Readonly<Record<string, PropertySpec>> = {}): string[] => Object.keys(specs);
    const names = [
      ...Object.values(schema.types).flatMap(({ properties }) => named(properties)),
      ...Object.values(schema.resources).flatMap((each) => [...named(each.inputProperties), ...named(each.properties)]),
    ];
    expect(names.filter((name) => !/^[a-z][A-Za-z0-9]*$/.test(name))).toEqual([]);
    expect(Object.keys(schema.types).filter((token) => !/^valkey:index:[A-Z][A-Za-z0-9]*$/.test(token))).toEqual([]);
  });

  it("tells plain values from inputs, and marks secrets", () => {
    for (const type of [CLUSTER, REPLICATION]) {
      const { inputProperties: inputs = {}, properties: outputs = {} } = schema.resources[type] ?? {};
      const plain = (spec: ValueSpec | undefined): boolean => spec?.plain === true;
      expect([inputs["zones"], inputs["zones"]?.items, inputs["image"], inputs["namespace"]].map(plain)).toEqual([
        true,
        true,
        true,
        false,
      ]);
      const secret = Object.entries({ ...inputs, ...outputs }).flatMap(([name, spec]) =>
        spec.secret === true ? [name] : [],
      );
      expect(secret.sort()).toEqual(["externalUrl", "password", "url"]);
    }
    expect(schema.types["valkey:index:BackupCredentials"]?.properties?.["secretAccessKey"]?.secret).toBe(true);
  });

  it("marks no object in a plain map as plain, because Pulumi's generator for Go would not declare its type", () => {
    const { access } = schema.resources["valkey:index:EksPlatform"]?.inputProperties ?? {};
    expect(access).toMatchObject({ plain: true, additionalProperties: { $ref: "#/types/valkey:index:AccessEntry" } });
    expect(access?.additionalProperties?.plain).toBeUndefined();
  });
});

describe("arguments of a component", () => {
  it("are wrong all at once, each with its path, and may have several forms", async () => {
    const sentinel = (value: unknown): Promise<readonly string[]> =>
      problemsOf(REPLICATION, { replicas: 2, zones, sentinel: value });
    const source = (value: object): Promise<readonly string[]> => problemsOf("Program", { source: value }, FORMS);
    const path = { from: "path", path: "/packages/valkey" };
    expect([await sentinel(true), await sentinel({ count: 5 }), await source(path)]).toEqual([[], [], []]);
    expect(await source({ from: "repository", url: "https://packages", version: "1" })).toEqual([]);
    await expectReviewed("components/component-arguments", "Wrong arguments of components.", {
      "a cluster": await problemsOf(CLUSTER, {
        shape: { primaries: "3", replicaPerPrimary: 1 },
        ...{ zone: zones, namespace: 7, tls: "orders-tls", storage: undefined },
        placement: { hostAntiAffinity: "always", nodeSelector: { disk: 1 }, tolerations: [{ key: 3 }] },
        resources: { requests: { cpu: "1", memory: "1Gi" } },
        settings: { "io-threads": "two", hz: 10, databases: [1] },
      }),
      "neither a value nor an object": await sentinel("yes"),
      "an object in place of a value": await sentinel({ count: "5", quorums: 3 }),
      "a form with another one's url": await source({ from: "path", url: "https://packages" }),
      "no form": await source({ url: "https://packages" }),
      "an unknown form": await source({ from: "disk" }),
    });
  });

  it("may be the outputs of another component, whose reference every language passes on as it is", async () => {
    expect(schema.resources[CLUSTER]?.properties["reference"]).toMatchObject({ $ref: "pulumi.json#/Any" });
    const target = { reference: pulumi.output({ platform: "kubernetes" }) };
    const targets = [{ ...target, password: pulumi.secret("pass") }, target];
    expect(await problemsOf("valkey:index:BenchmarkJob", { targets })).toEqual(["targets[1].password: missing"]);
  });

  it("may be outputs where the component takes inputs, and else must be known and no secret", async () => {
    const unknown = new (pulumi.Output as unknown as new (...parts: unknown[]) => pulumi.Output<unknown>)(
      new Set(),
      Promise.resolve(undefined),
      Promise.resolve(false),
      Promise.resolve(false),
      Promise.resolve(new Set()),
    );
    const inputs = {
      shape,
      zones: pulumi.output(zones),
      namespace: unknown,
      password: pulumi.secret("pass"),
      storage: { size: unknown },
    };
    expect(await problemsOf(CLUSTER, inputs)).toEqual([]);
    expect(await problemsOf(CLUSTER, { shape, zones: unknown, image: pulumi.secret("valkey") })).toEqual([
      "image: cannot be a secret",
      "zones: must be known while the program runs; expected a plain value, not an output",
    ]);
    const platform = { access: { viewer: unknown } };
    expect(await problemsOf("valkey:index:EksPlatform", platform)).toContain(
      "access.viewer: must be known while the program runs; expected a plain value, not an output",
    );
  });
});

describe("the provider", () => {
  const provider = new ComponentProvider("1.2.3");

  it("gives the schema with its version", async () => {
    expect(JSON.parse(await provider.getSchema())).toMatchObject({ name: "valkey", version: "1.2.3" });
    expect(JSON.parse(await new ComponentProvider(VERSION).getSchema())).toMatchObject({ version: VERSION });
  });

  it("constructs what the arguments describe, under the names that TypeScript has, with every output", async () => {
    let state: pulumi.Inputs = {};
    const resources = await evaluateProgram(async () => {
      ({ state } = await provider.construct(
        "orders",
        CLUSTER,
        { shape, zones, settings: { "io-threads": 2, hz: 20 } },
        {},
      ));
    });
    const { inputs } = onlyResource(resources, "valkey:index:DeploymentVerification", "orders");
    expect(inputs["target"]).toMatchObject({ directives: { "io-threads": "2", hz: "20" }, shape });
    const missing = Object.keys(schema.resources[CLUSTER]?.properties ?? {}).filter(
      (name) => !pulumi.Output.isInstance(state[name]),
    );
    expect(missing).toEqual([]);
    expect(await pulumi.isSecret(state["url"] as pulumi.Output<string>)).toBe(true);
    expect(await outputValue(pulumi.output(state["nodes"]))).toEqual([{ name: "orders-0", role: "primary" }]);
  });

  it("measures deployments of another language, which come as values, some of them secret", async () => {
    let state: pulumi.Inputs = {};
    const reference = {
      platform: "endpoints",
      name: "orders",
      mode: "cluster",
      shape,
      zones,
      directives: {},
      nodes: [],
    };
    const resources = await evaluateProgram(async () => {
      const targets = [{ reference: pulumi.output(reference), password: pulumi.secret("hidden") }];
      const workloads = { steady: { loadGenerator: "open-loop", rate: 100 } };
      const args = { targets, workloads, capacity: { objective: "p99=2ms" }, loadGenerators: { runners: 2 } };
      ({ state } = await provider.construct("compare", "valkey:index:BenchmarkJob", args, {}));
    });
    const { inputs, secrets } = onlyResource(resources, "valkey:index:Measurement", "compare");
    expect(inputs).toMatchObject({
      targets: [{ target: { name: "orders" }, password: "hidden" }],
      mixes: [{ name: "steady", rate: 100 }],
      clients: { runners: 2 },
    });
    expect(secrets).not.toEqual([]);
    expect(Object.keys(state).sort()).toEqual(["comparison", "report", "results", "summary"]);
  });

  it("names every wrong argument to the engine, and no value: it may be secret", async () => {
    const wrong = { shape: 3, zones: "a", image: pulumi.secret("hidden") };
    await expect(provider.construct("orders", CLUSTER, wrong, {})).rejects.toThrow(
      /^wrong arguments:\n {2}- shape: expected an object\n {2}- zones: expected a list\n {2}- image: cannot be a secret$/,
    );
    await expect(provider.construct("orders", "valkey:index:Cluster", {}, {})).rejects.toThrow(
      `there is no component valkey:index:Cluster; components: ${CLUSTER}, ${REPLICATION}, `,
    );
  });
});
