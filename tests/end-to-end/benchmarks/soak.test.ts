/** `npm start -- soak` as a user runs it: killed halfway, resumed with the same servers, and what it leaves behind. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SOAK_LOG_FILE, soakCheckpointLogs, type SoakEntry } from "../../../benchmarks/soak/checkpoint-log";
import { usePlace } from "../../support/valkey/hooks";
import { eventually } from "../../support/valkey/real";

const place = usePlace();

const entries = (): readonly SoakEntry[] => {
  const file = join(place.output(), SOAK_LOG_FILE);
  return existsSync(file) && readFileSync(file, "utf8").includes("\n")
    ? soakCheckpointLogs.parse(readFileSync(file, "utf8"), file).entries
    : [];
};
const windows = (): number => entries().filter(({ kind }) => kind === "window").length;

describe("npm start -- soak", () => {
  it("resumes after a SIGKILL with the same servers and windows, reports, and leaves nothing behind", async () => {
    const args = ["soak", "local", "--duration", "3s", "--window", "0.5s", "--rate", "300", "--output", place.output()];
    const first = await place.start(args);
    await eventually("both deployments have a window", () => windows() >= 2, 60_000);
    first.child.kill("SIGKILL");
    await first.ended;
    const servers = place.living().length;
    expect(servers).toBeGreaterThanOrEqual(9);
    const { status, output } = await place.call(["soak", "local", "--resume", "--output", place.output()]);
    expect(status, output).toBe(0);
    expect(output).toMatch(/Continue with the servers that a killed soak left behind/);
    expect(output).toMatch(/cluster-0: memory at most [\d.]+ MiB used/);
    expect(output).toMatch(/no problems/);
    expect(entries().filter(({ kind }) => kind === "servers")).toHaveLength(1);
    // Windows take a little longer than they are asked to, and the last is no shorter than the others.
    expect(windows()).toBeGreaterThanOrEqual(8);
    expect(windows()).toBeLessThanOrEqual(12);
    expect(JSON.parse(readFileSync(join(place.output(), "soak.json"), "utf8"))).toMatchObject({
      complete: true,
      findings: [
        { deployment: "replication", failed: 0 },
        { deployment: "cluster", failed: 0 },
      ],
    });
    expect(readFileSync(join(place.output(), "soak.html"), "utf8")).toContain('id="soak-cluster-tails"');
    expect(place.living()).toEqual([]);
    expect(readdirSync(place.runs)).toEqual([]);
  });
});
