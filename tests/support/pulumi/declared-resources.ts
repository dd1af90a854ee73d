/** A resource as a program declares it, and in which order the engine deletes those of a program. */
import type * as pulumi from "@pulumi/pulumi";

export interface DeclaredResource {
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
  /** `TYPE NAME` of the provider that its own options name. */
  readonly provider: string | undefined;
  readonly options: pulumi.ResourceOptions;
}

export const resourceKey = ({ type, name }: Pick<DeclaredResource, "type" | "name">): string => `${type} ${name}`;
/** An id that holds whose it is, so that dependencies through inputs are seen as the engine sees them. */
export const resourceId = (type: string, name: string): string => `id:${type}:${name}`;

export function onlyResource(resources: readonly DeclaredResource[], type: string, name?: string): DeclaredResource {
  const ofType = resources.filter((each) => each.type === type);
  const [first, ...others] = ofType.filter((each) => name === undefined || each.name === name);
  if (first === undefined || others.length > 0)
    throw new Error(
      `${first === undefined ? 0 : others.length + 1} of ${type} ${name ?? ""}; there are ${ofType.map((each) => each.name).join(", ")}`,
    );
  return first;
}

export function withAncestors(resources: readonly DeclaredResource[], of: DeclaredResource): DeclaredResource[] {
  const parent = resources.find((each) => resourceKey(each) === of.parent);
  return [of, ...(parent === undefined ? [] : withAncestors(resources, parent))];
}

type Graph = ReadonlyMap<DeclaredResource, readonly DeclaredResource[]>;
const graphs = new WeakMap<readonly DeclaredResource[], Graph>();

/** Direct dependencies of each resource, by the engine's own rule: options, inputs and the parent; a component stands for everything in it. */
function graphOf(resources: readonly DeclaredResource[]): Graph {
  const known = graphs.get(resources);
  if (known !== undefined) return known;
  const facts = resources.map((each) => ({
    each,
    id: resourceId(each.type, each.name),
    keys: withAncestors(resources, each).map(resourceKey),
  }));
  const graph = new Map(
    resources.map((of) => {
      const text = JSON.stringify(of.inputs);
      const direct = facts.filter(
        ({ id, keys }) => keys.some((key) => of.dependsOn.includes(key)) || text.includes(id) || keys[0] === of.parent,
      );
      return [of, direct.map(({ each }) => each)];
    }),
  );
  graphs.set(resources, graph);
  return graph;
}

/** Whether the engine deletes the first before the second: it depends on it, through options, parents and inputs. */
export function isDeletedBefore(
  resources: readonly DeclaredResource[],
  first: DeclaredResource,
  second: DeclaredResource,
): boolean {
  const graph = graphOf(resources);
  const seen = new Set<DeclaredResource>();
  const queue = [first];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const each of graph.get(next) ?? []) {
      if (each === second) return true;
      if (!seen.has(each)) queue.push((seen.add(each), each));
    }
  }
  return false;
}
