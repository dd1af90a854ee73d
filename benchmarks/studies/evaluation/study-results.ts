/**
 * Turns the checkpoints of a study into results. The results of a study and the results of a run have the same format.
 * Pure.
 */
import { asMeasuredTopology } from "../../results/topology";
import type { TopologyRecord } from "../../../valkey/verification/topology-record";
import { referenceLoadWarnings } from "../../warnings/warnings";
import type { ReferenceLoadRecord, Warning, Environment, MeasurementRecord, Results } from "../../results/schema";
import { SCHEMA_VERSION } from "../../results/schema";
import type { StudyState } from "./evaluate";
import { treatmentEntries, evaluateStudy } from "./evaluate";

/** Facts about a study's run that its checkpoint log does not contain. */
export interface StudyDescription {
  readonly timestamp: string;
  readonly stack: string;
  /** The parsed configuration, without secrets. */
  readonly configuration: unknown;
  readonly environment: Environment;
}

/** The results of a study. @param reason reason why the results are incomplete; null if they are complete */
export function studyResults(state: StudyState, description: StudyDescription, reason: string | null): Results {
  const treatments = treatmentEntries(state.entries);
  const topologies = new Map<string, TopologyRecord>();
  for (const { treatment, topology } of treatments) if (!topologies.has(treatment)) topologies.set(treatment, topology);
  const referenceLoads = state.entries.flatMap((entry): ReferenceLoadRecord[] =>
    entry.kind === "reference-load" ? [{ round: entry.round, rps: entry.rps, startedAt: entry.startedAt }] : [],
  );
  const moved = movedWarning(referenceLoads);
  return {
    schema: SCHEMA_VERSION,
    ...description,
    complete: reason === null,
    reason,
    // Topologies have the order of the treatments, so the baseline comes first.
    topologies: state.study.treatments.flatMap(({ id }) => {
      const topology = topologies.get(id);
      return topology === undefined ? [] : [asMeasuredTopology(topology)];
    }),
    referenceLoads,
    records: treatments
      .flatMap(({ records }) => records)
      .map((record): MeasurementRecord => ({ ...record, warnings: [...record.warnings, ...moved] })),
    capacities: [],
    scenarios: [],
    study: evaluateStudy(state),
  };
}

/**
 * Warning that the speed of the machine changed, or an empty list. If a single reference load differs, every record
 * gets this warning, because it is unknown when the machine changed.
 */
function movedWarning(referenceLoads: readonly ReferenceLoadRecord[]): Warning[] {
  const rounds = [...new Set(referenceLoads.map(({ round }) => round))];
  return rounds.flatMap((round) => referenceLoadWarnings(round, referenceLoads)).slice(0, 1);
}
