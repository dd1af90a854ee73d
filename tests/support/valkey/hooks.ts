/** Something that the tests of a file share: it is opened before them and closed after them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";
import { Place } from "../command";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { Sandbox } from "./real";
import { ResizableCluster } from "./resizable-cluster";
import { CREDENTIALS, S3Server } from "./s3-server";

/** A sandbox for all tests of this file or suite. */
export function useSandbox(): Sandbox {
  const sandbox = new Sandbox();
  beforeAll(() => sandbox.open());
  afterAll(() => sandbox.close());
  return sandbox;
}

/** Opens further sandboxes, which are closed after the tests of this file. @returns them in their order, so far */
export function useSandboxes(): { readonly opened: readonly Sandbox[]; readonly open: typeof Sandbox.open } {
  const opened: Sandbox[] = [];
  afterAll(() => Promise.all(opened.map((each) => each.close())));
  const open: typeof Sandbox.open = async (programs) => {
    const sandbox = await Sandbox.open(programs);
    opened.push(sandbox);
    return sandbox;
  };
  return { opened, open };
}

export function useResizableCluster(settings?: ServerSettings): ResizableCluster {
  const cluster = new ResizableCluster();
  beforeAll(() => cluster.open(settings));
  afterAll(() => cluster.close());
  return cluster;
}

/** A bucket's server, new for each test, to whose keys the environment leads. */
export function useS3(): { readonly server: S3Server } {
  let [directory, server]: [string, S3Server | undefined] = ["", undefined];
  beforeEach(async () => {
    for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
    directory = mkdtempSync(join(tmpdir(), "bucket-test-"));
    server = await S3Server.start(directory);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await server?.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    get server() {
      if (server === undefined) throw new Error("the server does not run");
      return server;
    },
  };
}

/** A user's place, new for each test. */
export function usePlace(): Place {
  const place = new Place();
  afterEach(() => place.close());
  return place;
}
