/** Objects that a program asks a Kubernetes API server for. */
import type { DeclaredResource } from "../pulumi/pulumi-mocks";
import { evaluateProgram } from "../pulumi/pulumi-mocks";

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

/** Objects of every native Kubernetes resource that a program registers; charts are not rendered. */
export async function renderObjects(program: () => unknown): Promise<KubernetesObject[]> {
  return (await evaluateProgram(program)).filter(isObject).map(({ inputs }) => inputs as unknown as KubernetesObject);
}

function isObject({ type, inputs }: DeclaredResource): boolean {
  return (
    type.startsWith("kubernetes:") && typeof inputs["apiVersion"] === "string" && typeof inputs["kind"] === "string"
  );
}
