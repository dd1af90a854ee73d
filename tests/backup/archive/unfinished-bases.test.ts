/** Bases that a killed process left without their manifest. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { archiveDeployment } from "../../../backup/archive/archive-deployment";
import { beginPeriod } from "../../../backup/archive/periods";
import { DirectoryStore } from "../../../backup/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { useDirectory } from "../../support/directory";

const directory = useDirectory();

it("removes them from all periods when an archive begins, and leaves sets, damaged sets and other folders", async () => {
  const store = new DirectoryStore(directory.path);
  const shards = [{ name: "shard-0", slots: undefined }];
  const period = await beginPeriod(store, { startedAt: 0, shards, databases: 16 });
  await beginPeriod(store, { startedAt: 1, shards, databases: 16 });
  const [, second = "none"] = await store.list("");
  const left = [
    ["killed", "base.rdb"],
    ["whole", "base.rdb"],
    ["whole", "base.json"],
    ["damaged", "base.rdb"],
    ["damaged", "0000000000000101.json"],
    ["deleted", "base.rdb"],
    ["deleted", "deleted.json"],
    ["notes", "notes.txt"],
  ];
  for (const each of [period.name, second])
    for (const file of left) await store.put([each, "shard-0", ...file].join("/"), [Buffer.from("x")]);
  const failed = new Error("no server answers");
  const deployment = {
    mode: "replication",
    get nodes() {
      throw failed;
    },
  } as unknown as Deployment;
  const { signal } = new AbortController();
  const spoolDirectory = join(directory.path, ".spool");
  const archiving = archiveDeployment({ store, deployment, spoolDirectory, signal, onEvent: () => undefined });
  await expect(archiving).rejects.toThrow("no server answers");
  for (const each of [period.name, second])
    expect(await store.list(`${each}/shard-0`)).toEqual(["damaged", "deleted", "notes", "whole"]);
});
