/** Writes all results after each record, so a crash loses no measurement. */
import { asMeasuredTopology, describeEnvironment } from "../results/environment";
import type { MeasurementListener } from "../measuring/measurement-series";
import { referenceLoadWarnings } from "../warnings/warnings";
import type { Verification } from "../../valkey/verification/verify";
import type { Artifacts } from "./artifacts";
import type { ScenarioRecord } from "../../faults/scenarios/record-schema";
import type { Machine } from "../../platforms/kubernetes/cluster/machine";
import type {
  ReferenceLoadRecord,
  CapacityRecord,
  DeploymentCost,
  Environment,
  MeasurementRecord,
  Results,
  MeasuredTopology,
} from "../results/schema";
import { SCHEMA_VERSION } from "../results/schema";
import { topologyOf } from "../../valkey/verification/topology-record";

export interface RunDescription {
  readonly timestamp: string;
  readonly stack: string;
  readonly configuration: unknown;
}

export class ResultsCollector {
  readonly #environment: Environment;
  #programs: Environment["programs"] = null;
  #machines: readonly Machine[] = [];
  #costs: readonly DeploymentCost[] = [];
  readonly #topologies: MeasuredTopology[] = [];
  readonly #referenceLoads: ReferenceLoadRecord[] = [];
  readonly #records: MeasurementRecord[] = [];
  readonly #capacities: CapacityRecord[] = [];
  readonly #scenarios: ScenarioRecord[] = [];
  readonly #raw: string[] = [];
  /** Remainders on servers that outlive the run, and how to remove them: then the run has failed. */
  readonly leftBehind: string[] = [];
  readonly afterwards: Verification[] = [];

  constructor(
    private readonly artifacts: Artifacts,
    private readonly description: RunDescription,
  ) {
    this.#environment = describeEnvironment(null);
  }

  get isEmpty(): boolean {
    return this.#topologies.length === 0 && this.#records.length === 0 && this.#scenarios.length === 0;
  }

  readonly listener: Omit<MeasurementListener, "progress"> = {
    referenceLoad: (referenceLoad) => {
      this.#referenceLoads.push(referenceLoad);
    },
    record: (record) => {
      this.#records.push(record);
      this.artifacts.writeProgress(this.#results("the run has not ended"), this.#rawText());
    },
    raw: (heading, output) => {
      this.#raw.push(`### ${heading}\n${output.endsWith("\n") ? output : `${output}\n`}`);
    },
  };

  addFailure(failure: ScenarioRecord, lost: readonly string[]): void {
    this.#scenarios.push(failure);
    if (lost.length > 0)
      this.listener.raw(`${failure.id}: acknowledged writes lost`, lost.map((line) => `${line}\n`).join(""));
    this.artifacts.writeProgress(this.#results("the run has not ended"), this.#rawText());
  }

  setPrograms({ version, source }: NonNullable<Environment["programs"]>): void {
    this.#programs = { version, source };
  }

  setMachines(machines: readonly Machine[]): void {
    this.#machines = machines;
  }

  setCosts(costs: readonly DeploymentCost[]): void {
    this.#costs = costs;
  }

  addTopology(verification: Verification, formationMs: number | null): void {
    this.#topologies.push(asMeasuredTopology(topologyOf(verification, formationMs)));
  }

  addCapacity(capacity: CapacityRecord): void {
    this.#capacities.push(capacity);
    this.artifacts.writeProgress(this.#results("the run has not ended"), this.#rawText());
  }

  addAfterwards(verification: Verification): void {
    this.afterwards.push(verification);
    const { deployment, nodes, shards, verdict } = topologyOf(verification, null);
    const topology = this.#topologies.find((each) => each.deployment === deployment);
    if (topology === undefined) return;
    topology.verdict = verdict;
    topology.nodes = nodes.map((node, index) => {
      const keys = verification.facts.nodes[index]?.keys;
      const role = shards.some(({ primary }) => primary === node.name) ? "primary" : "replica";
      return { ...node, role, keysAfter: keys?.known === true ? keys.value : null };
    });
  }

  /** @param reason reason why the results are incomplete; null if the results are complete */
  finish(reason: string | null): Results {
    const results = this.#results(reason);
    this.artifacts.writeAll(results, this.#rawText());
    return results;
  }

  #results(reason: string | null): Results {
    return {
      schema: SCHEMA_VERSION,
      ...this.description,
      complete: reason === null,
      reason,
      environment: { ...this.#environment, programs: this.#programs, machines: [...this.#machines] },
      topologies: this.#topologies,
      referenceLoads: this.#referenceLoads,
      ...(this.#costs.length === 0 ? {} : { costs: [...this.#costs] }),
      // Only the complete list of reference loads shows whether the machine changed, so these warnings are added last.
      records: this.#records.map((record) => ({
        ...record,
        warnings: [...record.warnings, ...referenceLoadWarnings(record.round, this.#referenceLoads)],
      })),
      capacities: this.#capacities.map((capacity) => ({
        ...capacity,
        warnings: [
          ...capacity.warnings,
          ...(capacity.round === null ? [] : referenceLoadWarnings(capacity.round, this.#referenceLoads)),
        ],
      })),
      scenarios: this.#scenarios,
    };
  }

  #rawText(): string {
    return this.#raw.join("\n");
  }
}
