/** The list of directives beside those of real servers. */
import { describe, expect, it } from "vitest";
import { directivesOf } from "../../../scripts/directives";
import knownDirectives from "../../../valkey/settings/known-directives.json";
import type { Programs } from "../../../platforms/host/programs/programs";
import { minorVersion } from "../../../valkey/settings/version";
import { useSandboxes } from "../../support/valkey/hooks";
import { olderPrograms, realPrograms, withNode } from "../../support/valkey/real";

const KNOWN: Readonly<Record<string, readonly string[]>> = knownDirectives;
const { open } = useSandboxes();

describe("known directives", () => {
  it.for<[string, () => Promise<Programs | undefined>]>([
    ["the Valkey of commands", realPrograms],
    ["Valkey 8.1", olderPrograms],
  ])("are those of %s", async ([what, find], { skip }) => {
    const programs = (await find()) ?? skip(`${what} cannot be had here`);
    const version = minorVersion(programs.version) ?? skip(`${what} has no version that is known`);
    const sandbox = await open(programs);
    const deployment = await sandbox.replication("one", 0, { "tcp-backlog": 77 });
    const names = await withNode(deployment, 0, directivesOf);
    const known = Object.keys(KNOWN).filter((name) => KNOWN[name]?.includes(version));
    expect([...new Set(names)].sort()).toEqual(known.sort());
    const backlog = await withNode(deployment, 0, (connection) => connection.config("GET", "tcp-backlog"));
    expect(backlog).toEqual(["tcp-backlog", "77"]);
  });
});
