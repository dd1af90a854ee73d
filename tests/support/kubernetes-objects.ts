/** What a program asks of a Kubernetes API server, as the objects themselves. */
import type { Declared } from "./pulumi";
import { evaluate } from "./pulumi";

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
}

/** Objects of every native Kubernetes resource that a program registers; charts are rendered by nobody here. */
export async function renderObjects(program: () => void): Promise<KubernetesObject[]> {
  return (await evaluate(program)).filter(isObject).map(({ inputs }) => inputs as unknown as KubernetesObject);
}

function isObject({ type, inputs }: Declared): boolean {
  return type.startsWith("kubernetes:") && typeof inputs["apiVersion"] === "string" && typeof inputs["kind"] === "string";
}
