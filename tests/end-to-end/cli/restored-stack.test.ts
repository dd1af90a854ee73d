/** A stack of the platform host whose deployment is restored from an archive, on a real Pulumi engine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type StackOutputs, outputsSchema } from "../../../stacks/program/outputs";
import { PulumiStack, pulumiPath, pulumiSkipNote } from "../../support/pulumi/pulumi-stack";
import { archiveOnce } from "../../support/valkey/archived-deployment";
import { writeDataSet } from "../../support/valkey/data-set";
import { Sandbox, valkeyHome, withNode } from "../../support/valkey/real";

describe.skipIf(pulumiPath() === undefined)(
  `a restored stack on the Pulumi engine${pulumiSkipNote()}`,
  { timeout: 300_000 },
  () => {
    let source: Sandbox;
    let folder: string;
    let trial: PulumiStack;
    let keys: number;
    beforeAll(async () => {
      source = await Sandbox.open();
      folder = mkdtempSync(join(tmpdir(), "archive-"));
      const shop = await source.replication("shop", 0);
      await withNode(shop, 0, async (primary) => {
        await writeDataSet(primary, 91, 300, { isCluster: true });
        keys = await primary.dbsize();
      });
      await archiveOnce(shop, folder);
      trial = await PulumiStack.open(config(), { VALKEY_HOME: await valkeyHome() });
    }, 300_000);
    afterAll(async () => {
      await trial.close();
      await source.close();
      rmSync(folder, { recursive: true });
    });

    const config = (restoreFrom?: Record<string, unknown>): Record<string, unknown> => ({
      platform: { type: "host", zones: ["a", "b", "c"] },
      deployments: {
        shop: {
          ...{ mode: "cluster", primaries: 3, replicasPerPrimary: 1, settings: { save: "" } },
          ...(restoreFrom === undefined ? {} : { restoreFrom }),
        },
      },
    });
    const outputs = async (): Promise<StackOutputs> =>
      outputsSchema.parse((await trial.stack.outputs())["valkey"]?.value);

    it("is refused in the preview when the archive does not have the time", async () => {
      trial.configure(config({ from: folder, at: "2020-01-01T00:00:00Z" }));
      await expect(trial.stack.preview({ onOutput: trial.onOutput })).rejects.toThrow(
        /cannot be restored; the nearest/,
      );
      expect(trial.runs()).toEqual([]);
    });

    it("comes up although it is killed during the restore, verified and with every key, and then nothing changes", async () => {
      trial.configure(config({ from: folder }));
      await trial.interruptedUp(/HostRestore shop creating/, "SIGKILL");
      await trial.stack.cancel();
      await trial.up();
      const { topologies, restored } = await outputs();
      expect(topologies.map(({ verdict }) => verdict.pass)).toEqual([true]);
      expect(restored["shop"]).toMatchObject({ keys, expired: 0 });
      expect(trial.log.join("")).toContain(`a new deployment is restored from ${folder} as of its last time`);
      // The six servers, and no staging server.
      expect(trial.living()).toBe(6);
      expect(trial.runs()).toHaveLength(1);
      expect(Object.keys(await trial.up({ expectNoChanges: true }))).toEqual(["same"]);
    });

    it("keeps its data when restoreFrom changes or is removed", async () => {
      trial.configure(config({ from: "/elsewhere" }));
      trial.log.length = 0;
      await trial.up();
      expect(trial.log.join("")).toContain("restoreFrom has changed; it fills only a new deployment");
      expect((await outputs()).restored["shop"]).toMatchObject({ keys });
      trial.configure(config());
      expect(await trial.up()).toMatchObject({ delete: 1 });
      trial.configure(config({ from: folder }));
      await expect(trial.up()).rejects.toThrow(/shop has data already: \d+ keys/);
      await trial.stack.destroy({ onOutput: trial.onOutput });
      expect(trial.runs()).toEqual([]);
    });
  },
);
