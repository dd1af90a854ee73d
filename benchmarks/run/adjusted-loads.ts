import type { Problem } from "../../lib/errors";
import type { Label } from "../../lib/schema/problems";
import { compact } from "../../lib/compact";
import type { MixedWorkload } from "../workloads/mixed-workload";
import { type LoadedDeployment, clientsUnit, namedTestProblems, workloadProblems } from "../workloads/suitability";
import { type Workload, adjustKeySpace, adjustedLoad, nearestMultiple } from "../workloads/workload";
import type { CapacitySearch } from "../capacity/measure-capacity";

interface MeasuredLoads {
  readonly workload: Workload;
  readonly mixes?: readonly MixedWorkload[] | undefined;
  readonly capacity?: CapacitySearch | undefined;
}

export function adjustLoads(
  { workload, mixes, capacity }: MeasuredLoads,
  deployments: readonly LoadedDeployment[],
  adjustLoad: boolean,
): MeasuredLoads {
  const primaries = compact(deployments.map(({ mode, shape }) => (mode === "cluster" ? shape.primaries : undefined)));
  const anyCluster = deployments.some(({ mode }) => mode === "cluster");
  const adjustMixed = <M extends MixedWorkload>(mixed: M): M => ({
    ...mixed,
    keySpace: adjustKeySpace(mixed.keySpace, anyCluster),
    ...(adjustLoad && {
      clients: nearestMultiple(
        mixed.clients,
        [1, ...primaries].map((each) => clientsUnit(mixed, each)),
      ),
    }),
  });
  return {
    workload: {
      ...workload,
      keySpace: adjustKeySpace(workload.keySpace, anyCluster),
      ...(adjustLoad ? adjustedLoad(workload.clients, workload.threads, primaries) : {}),
    },
    mixes: mixes?.map(adjustMixed),
    capacity: capacity && { ...capacity, workload: adjustMixed(capacity.workload) },
  };
}

export function loadProblems(
  { workload, mixes = [], capacity }: MeasuredLoads,
  deployments: readonly LoadedDeployment[],
): Problem[] {
  const searched =
    capacity === undefined || mixes.some(({ name }) => name === capacity.workload.name) ? [] : [capacity];
  return [
    ...namedTestProblems(workload, deployments, ofBenchmark),
    ...workloadProblems(named(mixes), deployments, ofBenchmark),
    ...workloadProblems(named(searched.map((each) => each.workload)), deployments, ofSearchedWorkload),
  ];
}

const named = (mixes: readonly MixedWorkload[]): [string, MixedWorkload][] => mixes.map((each) => [each.name, each]);

const ofBenchmark: Label = ([section, ...path]) =>
  (section === "benchmark" ? path : [section ?? "", ...path]).map(String).join(".");
const ofSearchedWorkload: Label = ([, , ...path]) => ["workload", ...path].map(String).join(".");
