/** Steps of a resize after its source has cancelled an atomic migration, with servers that exist only here. */
import { describe, expect, it } from "vitest";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { Deadline } from "../../../valkey/membership/deadline";
import { type Member, memberNamed } from "../../../valkey/membership/members";
import { migrateSlots } from "../../../valkey/resize/slot-migration";

/** A server's job: its first attempt ends in the state, and later ones succeed. */
interface Told {
  readonly name: string;
  readonly operation: string;
  readonly state: string;
}

/** A member that answers what slot migrations ask. @param jobs in the order of the attempts */
function member(name: string, jobs: () => readonly Told[], migrate: (bounds: string) => void): Member {
  const connection = {
    command: () => Promise.resolve([["cluster|migrateslots"]]),
    info: () => Promise.resolve("role:master\r\n"),
    call: (_cluster: string, subcommand: string, ...words: string[]) => {
      if (subcommand === "MIGRATESLOTS") migrate(words.slice(1, -2).join("-"));
      return Promise.resolve(
        jobs().map((job) => Object.entries({ ...job, source_node: "id of a", message: "" }).flat()),
      );
    },
  };
  const node = { name, endpoint: { host: name, port: 6379 }, zone: "", machine: "" };
  return { node, id: `id of ${name}`, connection: connection as unknown as Connection };
}

/** Moves the slots 0 to 99 from a to b; a says that it cancelled the first attempt. @returns the attempts */
async function attempts(atTarget: string): Promise<{ asked: string[]; lines: string[] }> {
  const asked: string[] = [];
  const told = (operation: string, first: string): Told[] =>
    asked.map((_bounds, index) => ({ name: `job ${index}`, operation, state: index === 0 ? first : "success" }));
  const members = [
    member(
      "a",
      () => told("EXPORT", "cancelled"),
      (bounds) => asked.push(bounds),
    ),
    member(
      "b",
      () => told("IMPORT", atTarget),
      () => undefined,
    ),
  ];
  const lines: string[] = [];
  await migrateSlots([{ from: "a", to: "b", ranges: [{ from: 0, to: 99 }] }], () => 0, {
    deployment: {} as Deployment,
    member: memberNamed(members),
    deadline: new Deadline("cluster", 2, {}, "resized"),
    report: (line) => lines.push(line),
  });
  return { asked, lines };
}

describe("slots of a migration that its source says it cancelled", () => {
  it("are moved again in smaller portions where the target gave them up as well", async () => {
    const { asked, lines } = await attempts("cancelled");
    expect(asked).toEqual(["0-99", "0-24", "25-49", "50-74", "75-99"]);
    expect(lines.at(-1)).toBe("migrated 100 of 100 slots");
  });

  it("are not asked for again where the target has taken them: the source serves them no more", async () => {
    expect(await attempts("success")).toEqual({ asked: ["0-99"], lines: ["migrated 100 of 100 slots"] });
  });
});
