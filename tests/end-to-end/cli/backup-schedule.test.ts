/** New bases on schedule, without a gap, and sets that are deleted when nothing needs them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { externalDeployment } from "../../../cli/targets/external";
import { archiveDeployment } from "../../../backup/archive/archive-deployment";
import { chooseRestore, readCatalog } from "../../../backup/archive/catalog";
import { claimArchive } from "../../../backup/archive/periods";
import { DirectoryStore } from "../../../backup/archive/store";
import { formatEndpoint } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import { useSandbox, usePlace } from "../../support/valkey/hooks";
import { eventually, withNode } from "../../support/valkey/real";

const sandbox = useSandbox();
const place = usePlace();
let shop: Deployment;
beforeAll(async () => {
  shop = await sandbox.formedReplication("shop", 0);
});

/** Archives until there are four bases, as the command does. The command accepts no schedule as short as this. */
async function archiveBases(deployment: Deployment, folder: string): Promise<void> {
  const { name, mode, nodes } = deployment;
  const store = new DirectoryStore(folder);
  const owner = { deployment: name, mode, nodes: nodes.map(({ endpoint }) => formatEndpoint(endpoint)) };
  await claimArchive(store, owner, folder);
  const stop = new AbortController();
  let bases = 0;
  const archiving = archiveDeployment({
    ...{ store, deployment, spoolDirectory: join(folder, ".spool"), baseEveryMs: 2_000, signal: stop.signal },
    onEvent: (event) => {
      if (event.kind === "written" && event.file.keys !== undefined) bases++;
    },
  });
  await Promise.race([archiving, eventually("there are four bases", () => bases >= 4, 60_000)]);
  stop.abort(new Error("stopped"));
  await archiving;
}

it("begins a set before the old one ends, deletes old sets, and keeps a proven one", async () => {
  const folder = place.output("sets");
  const node = `127.0.0.1:${shop.nodes[0]?.endpoint.port}=a`;
  const environment = { VALKEY_PASSWORD: shop.access.password };
  let isWriting = true;
  const writing = withNode(shop, 0, async (primary) => {
    for (let value = 0; isWriting; value++) {
      await primary.set("key", value);
      await sleep(10);
    }
  });
  await archiveBases(externalDeployment({ mode: "replication", node: [node] }, environment).deployment, folder);
  const catalog = await readCatalog(new DirectoryStore(folder));
  const [period] = catalog.periods;
  expect(catalog.damaged).toEqual([]);
  const sets = period?.shards[0]?.sets ?? [];
  expect(sets.length).toBeGreaterThanOrEqual(3);
  // Every millisecond from the first instant to the last one is in a set.
  const spans = sets.flatMap((each) => each.spans).sort((a, b) => a.from - b.from);
  let end = spans[0]?.to ?? 0;
  for (const { from, to } of spans) {
    expect(from).toBeLessThanOrEqual(end);
    end = Math.max(end, to);
  }
  expect(typeof chooseRestore(catalog, end)).toBe("object");

  const [oldest] = sets;
  const at = new Date(Math.ceil(oldest?.spans[0]?.from ?? 0)).toISOString();
  const proven = await place.call(["restore", folder, "--into", "local", "--at", at, "--check"]);
  expect(proven.status, proven.output).toBe(0);
  const list = await place.call(["backups", folder]);
  expect(list.output).toMatch(/Last restored with proof at \S+Z: \d+ keys as of \S+Z/);

  const second = await place.start(
    ["archive", "--mode", "replication", "--node", node, "--into", folder, "--keep", "1s"],
    environment,
  );
  const names = (): string[] => readdirSync(join(folder, period?.period.name ?? "", "shard-0"));
  await second.printed(/deleted set/);
  await eventually("the second set is deleted", () => !names().includes(sets[1]?.set.name ?? ""));
  await second.printed(/the stream goes on where the archive ended/);
  second.child.kill("SIGINT");
  isWriting = false;
  await writing;
  expect((await second.ended).status, second.output).toBe(0);
  expect(names()).toContain(oldest?.set.name);
  expect((await readCatalog(new DirectoryStore(folder))).damaged).toEqual([]);
});
