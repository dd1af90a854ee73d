/** The list of directives beside those of real servers. */
import { describe, expect, it } from "vitest";
import { acceptedValue, directivesOf, refusalsOf } from "../../../scripts/directives";
import knownDirectives from "../../../valkey/settings/known-directives.json";
import type { Programs } from "../../../platforms/host/programs/programs";
import type { AcceptedValue, KnownDirective } from "../../../valkey/settings/settings-problems";
import { minorVersion } from "../../../valkey/settings/version";
import { useSandboxes } from "../../support/valkey/hooks";
import { olderPrograms, realPrograms, withNode } from "../../support/valkey/real";

const KNOWN = knownDirectives as unknown as Readonly<Record<string, KnownDirective>>;
const { open } = useSandboxes();

/** The list has what either version accepts. */
function isWithin(own: AcceptedValue | undefined, listed: AcceptedValue | undefined): boolean {
  if (listed === undefined || own === undefined || own === "size" || listed === "size") return own === listed;
  if ("least" in own) return "least" in listed && listed.least <= own.least && own.most <= listed.most;
  return !("least" in listed) && own.every((word) => listed.includes(word));
}

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
    const known = Object.keys(KNOWN).filter((name) => KNOWN[name]?.versions.includes(version));
    expect([...new Set(names)].sort()).toEqual(known.sort());
    const backlog = await withNode(deployment, 0, (connection) => connection.config("GET", "tcp-backlog"));
    expect(backlog).toEqual(["tcp-backlog", "77"]);
    // The last step, because it changes the password.
    const accepted = await withNode(deployment, 0, async (connection) => {
      const refuse = refusalsOf(connection, programs.server);
      const each = known.map(async (name) => [name, await acceptedValue(name, refuse)] as const);
      return (await Promise.all(each)).filter(([name, value]) => !isWithin(value, KNOWN[name]?.accepts));
    });
    expect(accepted).toEqual([]);
  });
});
