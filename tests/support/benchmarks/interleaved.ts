/** Treatments of a side each, for tests that interleave two of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BaseDeployment, type Treatment, treatmentsOf } from "../../../benchmarks/studies/factors";
import type { StudyEnvironment } from "../../../benchmarks/studies/running/treatment-servers";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/arguments";
import type { Workload } from "../../../benchmarks/workloads/workload";
import { runningProcesses, RunDirectory } from "../../../platforms/host/run-directory";
import { never, realPrograms } from "../valkey/real";
import { workload } from "./tool-runs";

const WORKLOAD = workload({
  ...{ tests: ["get"], clients: 12, pipeline: 16, dataSize: 64, keySpace: 16_384, length: { seconds: 1 }, warmup: 0 },
});
export const treatment = (
  name: string,
  changes: Partial<BaseDeployment> = {},
  load: Partial<Workload> = {},
): Treatment => {
  const [made] = treatmentsOf(
    [
      {
        name,
        mode: "replication",
        shape: { primaries: 1, replicasPerPrimary: 0 },
        settings: { appendonly: false, save: "" },
        ...changes,
      },
    ],
    {},
    { ...WORKLOAD, ...load },
    1,
  );
  if (made === undefined) throw new Error("no treatment was made");
  return { ...made, id: name, label: name };
};

export class Runs {
  readonly path = mkdtempSync(join(tmpdir(), "side-by-side-"));

  living(): number {
    return RunDirectory.list(this.path).flatMap(({ path }) => runningProcesses(path)).length;
  }

  async environment(changes: Partial<StudyEnvironment> = {}): Promise<StudyEnvironment> {
    const programs = await realPrograms();
    return {
      runs: this.path,
      engines: new Map([[undefined, programs]]),
      benchmark: programs.benchmark,
      features: await detectFeatures(programs.benchmark),
      zones: ["a", "b", "c"],
      signal: never,
      report: () => undefined,
      raw: () => undefined,
      ...changes,
    };
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
