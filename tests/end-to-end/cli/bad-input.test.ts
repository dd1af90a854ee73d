/** Mistakes of a user: one message, exit status 2, nothing started. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SHORT } from "../../support/command";
import { usePlace } from "../../support/valkey/hooks";

const place = usePlace();

describe("bad input", () => {
  const refused = async (args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string> => {
    const { status, output } = await place.call(args, environment);
    expect(status, output).toBe(2);
    expect(output).not.toContain("    at ");
    expect(place.living()).toEqual([]);
    return output;
  };

  it("ends the process with status 2, and one message on standard error", async () => {
    const { status, output } = await place.run(["run", "locla"]);
    expect([status, output]).toEqual([2, expect.stringMatching(/^stack: there is no stack locla; .*\n$/)]);
  });

  it.each<[string, string[], RegExp]>([
    ["an unknown stack", ["run", "locla"], /no stack locla; did you mean local\? Stacks:.* local/],
    ["an unknown option", ["run", "--client", "4"], /unknown option '--client'/],
    ["an option that a search decides", ["capacity", "--tests", "get"], /unknown option '--tests'/],
    ["a workload that a study cannot use", ["study", "density", "--load-generator", "open-loop"], /--load-generator'/],
    ["a run and all runs", ["stop", "nonsense", "--all"], /^stop: expected the run nonsense or --all, not both\n$/],
    ["an option of verify", ["archive", "--primaries", "3"], /unknown option '--primaries'/],
    ["an unknown command's arguments", ["run", "local", "more"], /too many arguments/],
    ["a wrong type", ["run", "--clients", "many"], /--clients is "many": expected a whole number from 1 to 100000/],
    [
      "several at once",
      ["run", "--clients", "50", "--tests", "sett", "--repeats", "0"],
      /- --tests: sett is not one of[\s\S]*- --repeats is 0/,
    ],
    [
      "servers and a load that are both wrong",
      ["measure", "--mode", "both", "--node", "x", "--clients", "many"],
      /- --mode: .*\n.*- --node: x is not a node.*\n.*- --clients is "many"/,
    ],
    [
      "clients that do not divide",
      ["run", "--clients", "50"],
      /--clients: 50 clients cannot be shared evenly.*48 or 51/,
    ],
    ["a mode that is none", ["run", "--mode", "sentinel"], /--mode: is sentinel: expected cluster or replication/],
    ["values that cannot fit", ["run", "--datasize", "1000000"], /need about/],
  ])("%s is refused in one message, with nothing started", async (_what, args, message) => {
    expect(await refused(args)).toMatch(message);
    expect(existsSync(place.runs)).toBe(false);
  });

  it("no servers to be had says how to get them", async () => {
    const output = await refused(["run", ...SHORT, "--output", place.output()], { VALKEY_HOME: place.directory });
    expect(output).toMatch(
      /no usable Valkey server.*\n.*VALKEY_HOME is .* contains valkey-server[\s\S]*install Valkey: /,
    );
    expect(existsSync(place.output())).toBe(false);
  });

  it.skipIf(!existsSync("/proc/self")).each([
    ["run", ["run", ...SHORT]],
    ["soak", ["soak", "local"]],
    ["break", ["break"]],
  ])("%s refuses an output directory that cannot be made", async (_command, args) => {
    const output = await refused([...args, "--output", "/proc/valkey/results"]);
    expect(output).toMatch(
      /^output directory \/proc\/valkey\/results: .*; name a different directory with --output\n$/,
    );
  });

  it("an output directory that is a file, or holds results, is refused before anything runs", async () => {
    writeFileSync(place.output("file"), "");
    expect(await refused(["run", ...SHORT, "--output", place.output("file")])).toContain("is not a directory");
    mkdirSync(place.output("full"));
    writeFileSync(join(place.output("full"), "results.csv"), "theirs");
    expect(await refused(["run", ...SHORT, "--output", place.output("full")])).toContain("holds results already");
    expect(readFileSync(join(place.output("full"), "results.csv"), "utf8")).toBe("theirs");
  });
});
