/**
 * Pulumi without an engine: every resource that a program declares, with its inputs and its options, which mocks do not
 * see. Types that are not expected are refused, so that nothing is made unnoticed.
 */
import * as pulumi from "@pulumi/pulumi";

/** A declared resource. */
export interface Declared {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** What only options say. Names are `type name`. */
interface Edges {
  readonly parent: string | undefined;
  readonly dependsOn: readonly string[];
  readonly provider: string | undefined;
}

export interface Program {
  readonly resources: readonly Declared[];
  /** Every resource of a type. */
  ofType(type: string): Declared[];
  /** The only resource of a type and, where given, of a name. */
  one(type: string, name?: string): Declared;
  /** Whether the engine deletes the first before the second: it depends on it, through options, parents and inputs. */
  goesBefore(first: Declared, second: Declared): boolean;
  /** Of a resource of Kubernetes: which provider it is made by. */
  providerOf(resource: Declared): string | undefined;
}

/** Outputs of a resource besides its inputs, by its type. */
export type Outputs = (type: string, name: string, inputs: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> | undefined;

/** Answers of functions, such as `aws:index/getRegion:getRegion`. */
export type Calls = Readonly<Record<string, (inputs: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>>>;

const key = (type: string, name: string): string => `${type} ${name}`;
/** An output that holds where it comes from, so that dependencies through inputs are seen as the engine sees them. */
const idOf = (type: string, name: string): string => `id:${type}:${name}`;

/**
 * Runs a program to its end.
 * @param outputs undefined for a type that is not expected
 * @throws whatever the program throws, and for types and functions that are not expected
 */
export async function run(program: () => unknown, outputs: Outputs, calls: Calls = {}): Promise<Program> {
  const resources: Declared[] = [];
  const edges = new Map<string, Edges>();
  const unexpected: string[] = [];
  await pulumi.runtime.setMocks(
    {
      newResource: ({ type, name, inputs }) => {
        const own = inputs as Record<string, unknown>;
        const state = outputs(type, name, own);
        if (state === undefined) unexpected.push(key(type, name));
        resources.push({ type, name, inputs: own });
        return { id: idOf(type, name), state: { ...own, ...state } };
      },
      call: ({ token, inputs }) => {
        const answer = calls[token];
        if (answer === undefined) throw new Error(`${token} is not expected`);
        return answer(inputs as Record<string, unknown>);
      },
    },
    "valkey",
    "test",
    false,
  );
  const names = new Map<pulumi.Resource, string>();
  // Kept for later: the stack would wait for a program that failed, and report it to nobody.
  let failure: { readonly error: unknown } | undefined;
  await pulumi.runtime.runInPulumiStack(async () => {
    pulumi.runtime.registerStackTransformation(({ type, name, resource, opts }) => {
      names.set(resource, key(type, name));
      edges.set(key(type, name), { parent: opts.parent && names.get(opts.parent), dependsOn: dependenciesOf(opts.dependsOn, names), provider: providerOf(resource, opts, names) });
      return undefined;
    });
    try {
      await program();
    } catch (error) {
      failure = { error };
    }
  });
  await pulumi.runtime.disconnect();
  if (failure !== undefined) throw failure.error;
  if (unexpected.length > 0) throw new Error(`not expected: ${unexpected.join(", ")}`);
  return toProgram(resources, edges);
}

function dependenciesOf(dependsOn: pulumi.CustomResourceOptions["dependsOn"], names: ReadonlyMap<pulumi.Resource, string>): string[] {
  const list = dependsOn === undefined ? [] : Array.isArray(dependsOn) ? dependsOn : [dependsOn];
  return list.map((each) => {
    const name = names.get(each as pulumi.Resource);
    if (name === undefined) throw new Error("a dependency that is no resource of the program");
    return name;
  });
}

function providerOf(resource: pulumi.Resource, opts: pulumi.ResourceOptions, names: ReadonlyMap<pulumi.Resource, string>): string | undefined {
  const { providers } = opts as pulumi.ComponentResourceOptions;
  const ofComponent = providers === undefined || Array.isArray(providers) ? [] : Object.values(providers);
  const given = opts.provider ?? (pulumi.CustomResource.isInstance(resource) ? undefined : ofComponent[0]);
  return given && names.get(given);
}

function toProgram(resources: readonly Declared[], edges: ReadonlyMap<string, Edges>): Program {
  const keyOf = ({ type, name }: Declared): string => key(type, name);
  const ancestors = (name: string): string[] => {
    const parent = edges.get(name)?.parent;
    return parent === undefined ? [] : [parent, ...ancestors(parent)];
  };
  const inputText = new Map(resources.map((resource) => [keyOf(resource), JSON.stringify(resource.inputs)]));
  const throughInputs = (name: string): string[] => resources.filter((other) => inputText.get(name)?.includes(idOf(other.type, other.name))).map(keyOf);
  // The engine's own rule: options, inputs and the parent; a component stands for everything in it.
  const direct = (name: string): string[] => {
    const { parent, dependsOn } = edges.get(name) ?? { parent: undefined, dependsOn: [] };
    const explicit = dependsOn.flatMap((each) => [each, ...[...edges.keys()].filter((other) => ancestors(other).includes(each))]);
    return [...explicit, ...throughInputs(name), ...(parent === undefined ? [] : [parent])];
  };
  const reaches = (from: string, to: string): boolean => {
    const seen = new Set<string>();
    const queue = [from];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      for (const each of direct(next)) {
        if (each === to) return true;
        if (!seen.has(each)) queue.push((seen.add(each), each));
      }
    }
    return false;
  };
  const ofType = (type: string): Declared[] => resources.filter((resource) => resource.type === type);
  return {
    resources,
    ofType,
    one: (type, name) => {
      const found = ofType(type).filter((resource) => name === undefined || resource.name === name);
      if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} of ${type} ${name ?? ""}; there are ${ofType(type).map((each) => each.name).join(", ")}`);
      return found[0];
    },
    goesBefore: (first, second) => reaches(keyOf(first), keyOf(second)),
    providerOf: (resource) => [keyOf(resource), ...ancestors(keyOf(resource))].map((name) => edges.get(name)?.provider).find((provider) => provider !== undefined),
  };
}
