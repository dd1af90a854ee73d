import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ValkeyCluster } from "../../../components/valkey-cluster";
import { renderObjects } from "../../support/kubernetes-objects";
import { studyServers } from "../../support/servers";

const checkov = (process.env["PATH"] ?? "").split(delimiter).map((directory) => join(directory, "checkov")).find((file) => existsSync(file));

const reportSchema = z.object({ summary: z.object({ passed: z.int(), failed: z.int() }), results: z.object({ failed_checks: z.array(z.object({ check_id: z.string(), resource: z.string() })) }) });

describe.skipIf(checkov === undefined)(`static scan${checkov === undefined ? " (skipped: there is no checkov on the PATH; pip install checkov)" : ""}`, () => {
  it("finds nothing in a cluster but that its image has no digest", async () => {
    const directory = mkdtempSync(join(tmpdir(), "scan-"));
    try {
      const objects = await renderObjects(() => {
        new ValkeyCluster("cluster", { ...studyServers, shape: { primaries: 3, replicasPerPrimary: 1 } });
      });
      for (const object of objects) writeFileSync(join(directory, `${object.kind}-${object.metadata.name}.json`), JSON.stringify(object));
      const { stdout } = await promisify(execFile)(checkov ?? "", ["--directory", directory, "--framework", "kubernetes", "--output", "json", "--skip-download", "--soft-fail"]);
      const { summary, results } = reportSchema.parse(JSON.parse(stdout));
      expect(summary.passed).toBeGreaterThan(50);
      expect(results.failed_checks.map(({ check_id, resource }) => `${check_id} ${resource}`)).toEqual(["CKV_K8S_43 StatefulSet.valkey.cluster"]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
