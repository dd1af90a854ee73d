/** A Pulumi program run under mocks: every resource it registers, with inputs and options, and no engine. */
import * as pulumi from "@pulumi/pulumi";

/** One resource that a program registers. */
export interface Registered {
  readonly type: string;
  readonly name: string;
  /** Plain values; what was secret is in `secrets` too. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Paths of inputs that are secret, such as `stringData.password`. */
  readonly secrets: readonly string[];
  /** `TYPE NAME` of the resource it belongs to; undefined for the stack itself. */
  readonly parent: string | undefined;
  /** `TYPE NAME` each, sorted. */
  readonly dependsOn: readonly string[];
  readonly options: pulumi.ResourceOptions;
}

/** Types that the program may register. Any other is a mistake, in the program or in this list. */
const KNOWN_TYPES: ReadonlySet<string> = new Set([
  "pulumi:pulumi:Stack",
  "pulumi:providers:kubernetes",
  "pulumi-nodejs:dynamic/valkey:Drain",
  "pulumi-nodejs:dynamic/valkey:Password",
  "valkey:kubernetes:ValkeyCluster",
  "valkey:kubernetes:ValkeyReplication",
  "kubernetes:apps/v1:StatefulSet",
  "kubernetes:core/v1:ConfigMap",
  "kubernetes:core/v1:Namespace",
  "kubernetes:core/v1:Secret",
  "kubernetes:core/v1:Service",
  "kubernetes:core/v1:ServiceAccount",
  "kubernetes:helm.sh/v4:Chart",
  "kubernetes:monitoring.coreos.com/v1:ServiceMonitor",
  "kubernetes:networking.k8s.io/v1:NetworkPolicy",
  "kubernetes:policy/v1:PodDisruptionBudget",
]);

/** What marks a secret between a program and the engine. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/**
 * Runs a program to its end.
 * @throws what the program throws, and Error naming every type it registers that is not known
 */
export async function evaluate(program: () => void): Promise<Registered[]> {
  const inputs = new Map<string, unknown>();
  const seen: { readonly resource: pulumi.Resource; readonly type: string; readonly name: string; readonly options: pulumi.ResourceOptions }[] = [];
  const unknown = new Set<string>();
  let failure: { readonly error: unknown } | undefined;
  await pulumi.runtime.setMocks({
    call: ({ token }) => {
      unknown.add(token);
      return {};
    },
    newResource: (args) => {
      if (!KNOWN_TYPES.has(args.type)) unknown.add(args.type);
      inputs.set(`${args.type} ${args.name}`, args.inputs);
      const made = args.type.endsWith(":Password") ? { password: "generated" } : {};
      return { id: `${args.name}-id`, state: { ...(withoutSignatures(args.inputs, [], []) as Record<string, unknown>), ...made } };
    },
  });
  await pulumi.runtime.runInPulumiStack(() => {
    pulumi.runtime.registerStackTransformation(({ resource, type, name, opts }) => {
      seen.push({ resource, type, name, options: opts });
      return undefined;
    });
    // Thrown on afterwards: the stack hands a failure on to promises that nobody here looks at.
    try {
      program();
    } catch (error) {
      failure = { error };
    }
    return Promise.resolve(undefined);
  });
  await pulumi.runtime.disconnect();
  if (failure !== undefined) throw failure.error;
  if (unknown.size > 0) throw new Error(`unknown to these mocks: ${[...unknown].sort().join(", ")}`);
  const keys = new Map(seen.map(({ resource, type, name }) => [resource, `${type} ${name}`]));
  return seen.map(({ type, name, options }) => {
    const secrets: string[] = [];
    const plain = withoutSignatures(inputs.get(`${type} ${name}`) ?? {}, [], secrets) as Record<string, unknown>;
    return { type, name, inputs: plain, secrets, parent: keyOf(keys, options.parent), dependsOn: dependenciesOf(keys, options), options };
  });
}

function keyOf(keys: ReadonlyMap<pulumi.Resource, string>, resource: pulumi.Resource | undefined): string | undefined {
  return resource === undefined ? undefined : keys.get(resource);
}

function dependenciesOf(keys: ReadonlyMap<pulumi.Resource, string>, { dependsOn }: pulumi.ResourceOptions): string[] {
  const all: unknown[] = Array.isArray(dependsOn) ? dependsOn : dependsOn === undefined ? [] : [dependsOn];
  return all.map((each) => (pulumi.Resource.isInstance(each) ? (keyOf(keys, each) ?? "a resource outside the program") : "something that is known later")).sort();
}

/** The value without the marks of secrets, whose paths are collected. A secret leaf counts, not what it is in. */
function withoutSignatures(value: unknown, path: readonly string[], secrets: string[]): unknown {
  if (Array.isArray(value)) return value.map((each: unknown, index) => withoutSignatures(each, [...path, String(index)], secrets));
  if (value === null || typeof value !== "object") return value;
  const record = value as Readonly<Record<string, unknown>>;
  if (record[SIGNATURE] === SECRET) {
    secrets.push(path.join("."));
    return withoutSignatures(record["value"], path, []);
  }
  return Object.fromEntries(Object.entries(record).map(([key, each]) => [key, withoutSignatures(each, [...path, key], secrets)]));
}

/** The only resource of a type, or of a type and name. */
export function only(resources: readonly Registered[], type: string, name?: string): Registered {
  const found = resources.filter((each) => each.type === type && (name === undefined || each.name === name));
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`${found.length} resources are ${type}${name === undefined ? "" : ` ${name}`}`);
  return first;
}
