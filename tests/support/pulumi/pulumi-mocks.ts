/**
 * Pulumi without an engine: every resource that a program declares, with its inputs and its options, which mocks do not
 * see. Types that are not expected are refused, so that nothing is made unnoticed.
 */
import { Semaphore } from "../../../lib/semaphore";
import * as pulumi from "@pulumi/pulumi";
import type { DeclaredResource } from "./declared-resources";
import { acceptTransforms } from "./mock-transforms";
import { isDeletedBefore, resourceId, resourceKey, withAncestors, onlyResource } from "./declared-resources";

export type { DeclaredResource } from "./declared-resources";
export { onlyResource } from "./declared-resources";

export interface ProgramRun {
  readonly resources: readonly DeclaredResource[];
  readonly returned: unknown;
  ofType(type: string): DeclaredResource[];
  one(type: string, name?: string): DeclaredResource;
  isDeletedBefore(first: DeclaredResource, second: DeclaredResource): boolean;
  providerOf(resource: DeclaredResource): string | undefined;
}

/** Outputs of a resource besides its inputs, by its type. */
export type MockOutputs = (
  type: string,
  name: string,
  inputs: Readonly<Record<string, unknown>>,
) => Readonly<Record<string, unknown>> | undefined;

/** Answers of functions, such as `aws:index/getRegion:getRegion`. */
export type MockCalls = Readonly<
  Record<string, (inputs: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>>
>;

/** Types of Kubernetes' and the project's own, which components may declare. Any other is a mistake. */
const OWN_TYPES = /^(kubernetes:[a-z]|valkey:(index|kubernetes):|pulumi:providers:kubernetes$)/;

export const OWN_OUTPUTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "valkey:index:Password": { password: "generated" },
  "valkey:index:Access": { changedAt: "" },
  "valkey:index:Preparation": { certificate: { secret: "valkey/orders-tls" }, nodes: { emptiedAt: null } },
  "valkey:index:Rollout": {
    pods: {},
    addresses: {
      endpoints: ["203.0.113.1:6379", "203.0.113.2:6379"],
      files: { "orders-0.conf": "cluster-announce-client-ipv4 203.0.113.1\n" },
    },
  },
  "valkey:index:Formation": { cluster: { milliseconds: 1500 } },
  "valkey:index:DeploymentVerification": {
    topology: { nodes: [{ name: "orders-0", role: "primary" }] },
    verifiedAt: "2026-07-20T10:00:00.000Z",
    drift: [],
  },
  "valkey:index:Restore": { restored: { restoredAt: "", shards: [], keys: 0, expired: 0 } },
  "valkey:index:Measurement": { results: { capacities: [] }, comparison: [], summary: "", report: "report.html" },
  "kubernetes:core/v1:Secret": { data: { "ca.crt": Buffer.from("authority").toString("base64") } },
};

export async function evaluateProgram(program: () => unknown): Promise<readonly DeclaredResource[]> {
  const { resources } = await runProgram(program, (type) =>
    OWN_TYPES.test(type) ? (OWN_OUTPUTS[type] ?? {}) : undefined,
  );
  return resources;
}

export async function declareOne<T>(make: () => T): Promise<{ component: T; resources: readonly DeclaredResource[] }> {
  const made: T[] = [];
  const resources = await evaluateProgram(() => {
    made.push(make());
  });
  const [component] = made;
  if (component === undefined) throw new Error("nothing is declared");
  return { component, resources };
}

function kubernetesMetadata(type: string, name: string, { metadata }: Readonly<Record<string, unknown>>): object {
  if (!type.startsWith("kubernetes:") || typeof metadata !== "object") return {};
  return { metadata: { ...metadata, uid: `UID of ${name}` } };
}

/**
 * Runs a program to its end.
 * @param outputs undefined for a type that is not expected
 * @throws whatever the program throws, and for types and functions that are not expected
 */
export function runProgram(
  program: () => unknown,
  outputs: MockOutputs,
  calls: MockCalls = {},
  stack = "test",
): Promise<ProgramRun> {
  return ONE_AT_A_TIME.run(() => withPlainStacks(() => runAlone(program, outputs, calls, stack)));
}

/** The SDK reads the stack of each resource. Lines are those of the transformed files meanwhile, which costs less. */
async function withPlainStacks<T>(run: () => Promise<T>): Promise<T> {
  const mapped = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace") ?? { value: undefined };
  Error.prepareStackTrace = ({ name, message }, sites) =>
    [`${name}: ${message}`, ...sites.slice(0, 10).map((at) => `${at.getFileName()}:${at.getLineNumber()}`)].join(
      "\n    at ",
    );
  try {
    return await run();
  } finally {
    Object.defineProperty(Error, "prepareStackTrace", mapped);
  }
}

/** The SDK's runtime, and so its mocks, are one for the whole process. */
const ONE_AT_A_TIME = new Semaphore(1);

async function runAlone(
  program: () => unknown,
  outputs: MockOutputs,
  calls: MockCalls,
  stack: string,
): Promise<ProgramRun> {
  const inputs = new Map<string, unknown>();
  const seen: {
    readonly resource: pulumi.Resource;
    readonly type: string;
    readonly name: string;
    readonly options: pulumi.ResourceOptions;
  }[] = [];
  const unexpected: string[] = [];
  await pulumi.runtime.setMocks(
    {
      newResource: ({ type, name, inputs: given }) => {
        inputs.set(resourceKey({ type, name }), given);
        const own = withoutSignatures(given, [], []) as Record<string, unknown>;
        const state = type === "pulumi:pulumi:Stack" ? {} : outputs(type, name, own);
        if (state === undefined) unexpected.push(resourceKey({ type, name }));
        // The engine keeps outputs of the package's own provider secret where the input of the same name is.
        const kept = type.startsWith("valkey:index:") ? (given as Record<string, unknown>) : own;
        return { id: resourceId(type, name), state: { ...kept, ...state, ...kubernetesMetadata(type, name, own) } };
      },
      call: ({ token, inputs: given }) => {
        const answer = calls[token];
        if (answer === undefined) throw new Error(`${token} is not expected`);
        return answer(given as Record<string, unknown>);
      },
    },
    "valkey",
    stack,
    false,
  );
  acceptTransforms();
  let returned: unknown;
  // Thrown after the run: the stack would wait for a program that failed, and report nothing.
  let failure: { readonly error: unknown } | undefined;
  await pulumi.runtime.runInPulumiStack(async () => {
    pulumi.runtime.registerStackTransformation(({ resource, type, name, opts }) => {
      seen.push({ resource, type, name, options: opts });
      return undefined;
    });
    try {
      returned = await program();
    } catch (error) {
      failure = { error };
    }
  });
  await pulumi.runtime.disconnect();
  if (failure !== undefined) throw failure.error;
  if (unexpected.length > 0) throw new Error(`not expected: ${unexpected.sort().join(", ")}`);
  const keys = new Map(seen.map((each) => [each.resource, resourceKey(each)]));
  const resources = seen.map(({ resource, type, name, options }): DeclaredResource => {
    const secrets: string[] = [];
    const plain = withoutSignatures(inputs.get(resourceKey({ type, name })) ?? {}, [], secrets) as Record<
      string,
      unknown
    >;
    return {
      type,
      name,
      inputs: plain,
      secrets,
      parent: options.parent && keys.get(options.parent),
      dependsOn: dependenciesOf(options, keys),
      provider: providerOf(resource, options, keys),
      options,
    };
  });
  return {
    resources,
    returned,
    ofType: (type) => resources.filter((each) => each.type === type),
    one: (type, name) => onlyResource(resources, type, name),
    isDeletedBefore: (first, second) => isDeletedBefore(resources, first, second),
    providerOf: (resource) =>
      withAncestors(resources, resource).find(({ provider }) => provider !== undefined)?.provider,
  };
}

type Keys = ReadonlyMap<pulumi.Resource, string>;

function dependenciesOf({ dependsOn }: pulumi.ResourceOptions, keys: Keys): string[] {
  const all: unknown[] = Array.isArray(dependsOn) ? dependsOn : dependsOn === undefined ? [] : [dependsOn];
  return all
    .map((each) =>
      pulumi.Resource.isInstance(each)
        ? (keys.get(each) ?? "a resource outside the program")
        : "something that is known later",
    )
    .sort();
}

function providerOf(resource: pulumi.Resource, options: pulumi.ResourceOptions, keys: Keys): string | undefined {
  const { providers } = options as pulumi.ComponentResourceOptions;
  const ofComponent = providers === undefined || Array.isArray(providers) ? [] : Object.values(providers);
  const { provider } = options as pulumi.CustomResourceOptions;
  const given = provider ?? (pulumi.CustomResource.isInstance(resource) ? undefined : ofComponent[0]);
  return given && keys.get(given);
}

/** Mark of a secret between a program and the engine. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/** The value without the marks of secrets, whose paths are collected. A secret leaf counts, not what it is in. */
function withoutSignatures(value: unknown, path: readonly string[], secrets: string[]): unknown {
  if (Array.isArray(value))
    return value.map((each: unknown, index) => withoutSignatures(each, [...path, String(index)], secrets));
  if (value === null || typeof value !== "object") return value;
  const record = value as Readonly<Record<string, unknown>>;
  if (record[SIGNATURE] === SECRET) {
    secrets.push(path.join("."));
    return withoutSignatures(record["value"], path, []);
  }
  return Object.fromEntries(
    Object.entries(record).map(([key, each]) => [key, withoutSignatures(each, [...path, key], secrets)]),
  );
}

export function plainInputs(inputs: unknown): Readonly<Record<string, unknown>> {
  return withoutSignatures(inputs, [], []) as Record<string, unknown>;
}

export function outputValue<T>(output: pulumi.Output<T>): Promise<T> {
  return new Promise((resolve) => {
    output.apply((value) => {
      resolve(value);
      return value;
    });
  });
}
