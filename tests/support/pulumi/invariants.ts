/** Every program of `tests/rendered/` with its pods, for invariants that hold for all programs, whatever they declare. */
import { beforeAll, expect } from "vitest";
import type { Container, PodSpec } from "../kubernetes/pod-specs";
import { resourceKey } from "./declared-resources";
import type { DeclaredResource, ProgramRun } from "./pulumi-mocks";
import { PROGRAMS, renderedRun } from "./rendered-programs";

export interface Pod {
  /** `TYPE NAME` of the resource that makes it. */
  readonly of: string;
  readonly resource: DeclaredResource;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
  readonly isServing: boolean;
  readonly selector: Readonly<Record<string, string>> | undefined;
}
export interface Program {
  readonly name: string;
  readonly run: ProgramRun;
  readonly resources: readonly DeclaredResource[];
  readonly pods: readonly Pod[];
}
export const programs: Program[] = [];
/** Objects of clusters that exist, which two components of one program declare for the same pools. */
export const OF_OTHER_CLUSTERS = /^(mine|named)-/;

/** Runs the programs before the tests of this file. Files in one process share them. */
export function usePrograms(): void {
  beforeAll(async () => {
    if (programs.length > 0) return;
    for (const name of Object.keys(PROGRAMS)) {
      const run = await renderedRun(name);
      programs.push({ name, run, resources: run.resources, pods: run.resources.flatMap(podsOf) });
    }
  }, 300_000);
}

type Template = { readonly metadata: { readonly labels: Record<string, string> }; readonly spec: PodSpec };
export type Selecting = { readonly selector: { readonly matchLabels: Readonly<Record<string, string>> } };
type Metadata = {
  readonly name: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};
export const metadataOf = ({ inputs }: DeclaredResource): Metadata => inputs["metadata"] as Metadata;
export const specOf = <T>({ inputs }: DeclaredResource & { readonly specification?: T }): T => inputs["spec"] as T;

function podsOf(resource: DeclaredResource): Pod[] {
  return madePods(resource).map((pod) => ({
    ...pod,
    spec: { ...pod.spec, volumes: (pod.spec as Partial<PodSpec>).volumes ?? [] },
  }));
}

function madePods(resource: DeclaredResource): Pod[] {
  const { type, inputs } = resource;
  const of = resourceKey(resource);
  if (/:(StatefulSet|Deployment)$/.test(type)) {
    const { template, selector } = specOf<{ template: Template; selector: { matchLabels: Record<string, string> } }>(
      resource,
    );
    const { labels } = template.metadata;
    const { namespace } = metadataOf(resource);
    return [{ of, resource, namespace, labels, spec: template.spec, isServing: true, selector: selector.matchLabels }];
  }
  if (type.endsWith(":CronJob")) {
    const { template } = specOf<{ jobTemplate: { spec: { template: Template } } }>(resource).jobTemplate.spec;
    const { namespace } = metadataOf(resource);
    return [
      {
        of,
        resource,
        namespace,
        labels: template.metadata.labels,
        spec: template.spec,
        isServing: false,
        selector: undefined,
      },
    ];
  }
  if (!("pod" in inputs)) return [];
  const {
    pod: spec,
    labels = {},
    target,
  } = inputs as { pod: PodSpec; labels?: Record<string, string>; target: { namespace: string } };
  return [{ of, resource, namespace: target.namespace, labels, spec, isServing: false, selector: undefined }];
}

export const withPods = (): Program[] => programs.filter(({ pods }) => pods.length > 0);
export const allPods = (): Pod[] => programs.flatMap(({ pods }) => pods);
export const resourcesOf = (pattern: RegExp): DeclaredResource[] =>
  programs.flatMap(({ resources }) => resources.filter(({ type }) => pattern.test(type)));
export const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...spec.containers,
  ...(spec.initContainers ?? []),
];
export const matches = (
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean => Object.entries(selector).every(([key, value]) => labels[key] === value);
export const isServer = ({ labels }: Pod): boolean => labels["app.kubernetes.io/name"] === "valkey";

/** Everything that violates something, which is to be nothing; and that there was something to look at. */
export function expectNone<T>(all: readonly T[], violations: (each: T) => readonly unknown[]): void {
  expect(all.length).toBeGreaterThan(0);
  expect(all.flatMap(violations)).toEqual([]);
}
