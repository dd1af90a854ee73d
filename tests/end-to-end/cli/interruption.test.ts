/** `npm start` told to stop, at every stage. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ARTIFACTS, resultsIn, TIMED } from "../../support/command";
import { usePlace } from "../../support/valkey/hooks";
import { eventually } from "../../support/valkey/real";

const place = usePlace();

const timed = (...more: string[]): string[] => ["run", ...TIMED, "--output", place.output(), ...more];

describe("being told to stop", () => {
  it.each([
    ["at once", /./, "SIGINT", 130],
    ["while servers start", /❯ Start/, "SIGTERM", 143],
    ["while they form", /❯ Form/, "SIGINT", 130],
    ["while they are verified", /❯ Verify/, "SIGINT", 130],
    ["while they are measured", /1\/2/, "SIGTERM", 143],
    ["while they are stopped", /❯ Stop/, "SIGINT", 130],
  ] as const)("%s leaves nothing running", async (stage, marker, signal, expected) => {
    // Four servers stop as ten do: only where both deployments are under way does it take both.
    const command = await place.start(
      stage === "while they form" || stage === "while they are measured" ? timed() : timed("--mode", "replication"),
    );
    if (stage === "at once")
      await eventually("it has begun", () => existsSync(place.output()) || command.output !== "", 60_000);
    else await command.printed(marker);
    command.child.kill(signal);
    const { status, output } = await command.ended;
    // Stopping is the end of the work: a signal then changes nothing about what was measured.
    expect(stage === "while they are stopped" ? [0, expected] : [expected], output).toContain(status);
    expect(place.living()).toEqual([]);
    expect(existsSync(place.runs) ? readdirSync(place.runs) : []).toEqual([]);
    if (stage === "while they are measured") {
      expect(output).toContain("stopped by SIGTERM");
      expect(readdirSync(place.output()).sort()).toEqual(ARTIFACTS);
      expect(resultsIn(place.output())).toMatchObject({
        complete: false,
        reason: "stopped by SIGTERM",
        records: [{ test: "get" }],
      });
      expect(readFileSync(join(place.output(), "summary.txt"), "utf8")).toMatch(/^INCOMPLETE: stopped by SIGTERM/);
    }
  });

  it("by a reader that goes away stops it as well", async () => {
    const command = await place.start(timed("--mode", "replication"));
    await command.printed(/❯ Verify/);
    // Progress goes to stderr.
    command.child.stdout?.destroy();
    command.child.stderr?.destroy();
    expect((await command.ended).status).toBe(141);
    expect(place.living()).toEqual([]);
  });
});
