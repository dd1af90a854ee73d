/** Objects that a program asks a Kubernetes API server for. */
import { type DeclaredResource, evaluateProgram } from "../pulumi/pulumi-mocks";

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
}

/** Objects of every native Kubernetes resource that a program registers, patches included; charts are not rendered. */
export async function renderObjects(program: () => unknown): Promise<KubernetesObject[]> {
  const objects = new Map<string, KubernetesObject>();
  for (const { inputs } of (await evaluateProgram(program)).filter(isObject)) {
    const object = inputs as unknown as KubernetesObject;
    const { kind, metadata } = object;
    const id = [kind, metadata.namespace, metadata.name].join(" ");
    const known = objects.get(id);
    objects.set(id, known === undefined ? object : { ...object, metadata: { ...known.metadata, ...metadata } });
  }
  return [...objects.values()];
}

function isObject({ type, inputs }: DeclaredResource): boolean {
  return (
    type.startsWith("kubernetes:") && typeof inputs["apiVersion"] === "string" && typeof inputs["kind"] === "string"
  );
}
