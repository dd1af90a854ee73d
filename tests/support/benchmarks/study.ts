/** Studies for tests of what is made of studies: treatments, and measurements that nobody took. */
import { type Treatment, type Variation, treatmentsOf } from "../../../benchmarks/studies/factors";
import type {
  TreatmentEntry,
  StudyLogEntry,
  InterleavedEntry,
  SliceCounts,
} from "../../../benchmarks/studies/checkpoint-log";
import type { TreatmentPair } from "../../../benchmarks/studies/pairs";
import type { Study } from "../../../benchmarks/studies/study";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import { measurementRecord, verifiedTopology } from "./records";
import { workload } from "./tool-runs";

export const WORKLOAD = workload({
  ...{ clients: 48, pipeline: 16, dataSize: 256, keySpace: 16_384, length: { seconds: 2 } },
});

const PRIMARY = {
  name: "primary",
  mode: "replication",
  shape: { primaries: 1, replicasPerPrimary: 0 },
  settings: {},
} as const;

export function study(variation: Variation, changes: Partial<Study> = {}): Study {
  return {
    name: "test",
    kind: "comparison",
    treatments: treatmentsOf([PRIMARY], variation, WORKLOAD, 1),
    seed: 7,
    precision: 0.05,
    budget: 1e6,
    tableGrowth: undefined,
    ...changes,
  };
}

export function referenceLoadEntry(
  round: number,
  place: number,
  rps = 1e6,
): Extract<StudyLogEntry, { kind: "reference-load" }> {
  return { kind: "reference-load", round, place, rps, startedAt: "2026-11-21T09:00:00.000Z", seconds: 2 };
}

export function treatmentEntry(
  treatment: Treatment,
  round: number,
  rps: number,
  changes: Partial<MeasurementRecord> = {},
): TreatmentEntry {
  const base = measurementRecord();
  const topology = verifiedTopology("cluster", 3);
  const own = {
    ...base,
    id: `${round}-${treatment.id}-set`,
    round,
    deployment: treatment.id,
    workload: treatment.id,
    mode: treatment.mode,
    test: "set",
    title: "SET",
    client: { ...base.client, rps },
    ...changes,
  };
  return {
    kind: "treatment",
    round,
    treatment: treatment.id,
    seconds: 10,
    records: [own],
    topology: { ...topology, deployment: treatment.id, mode: treatment.mode },
    growth: null,
  };
}

export function interleavedEntry(
  { base, other }: TreatmentPair,
  round: number,
  ofBase: SliceCounts,
  ofOther: SliceCounts,
): InterleavedEntry {
  return {
    kind: "interleaved",
    round,
    base: base.id,
    other: other.id,
    seconds: 5,
    tests: [{ test: "set", base: ofBase, other: ofOther }],
  };
}
