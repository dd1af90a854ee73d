/** `npm start -- recommend`: bad input is refused whole, before any file is read. */
import { describe, expect, it } from "vitest";
import { commandLine } from "../../cli/cli";
import { type Ended, captured } from "../support/captured";
import { never } from "../support/valkey/real";

const recommend = (...args: string[]): Promise<Ended> => captured({}, () => commandLine(["recommend", ...args], never));

describe("npm start -- recommend", () => {
  it("says everything that is missing", async () => {
    const { status, output } = await recommend();
    expect(status).toBe(2);
    expect(output).toContain("expected results with measured capacity");
    expect(output).toContain("--rate is missing: expected requests per second at the peak, above 0");
    expect(output).toContain("--working-set: missing; expected a size such as 40gb");
  });

  it("refuses every value that is wrong, with what is allowed", async () => {
    const wrong = ["--rate", "fast", "--working-set", "0", "--reads", "2", "--value-size", "0", "--pipeline", "1.5"];
    const { status, output } = await recommend("results", ...wrong, "--p99", "-1", "--replicas", "11", "--region", "x");
    expect(status).toBe(2);
    for (const problem of [
      '--rate is "fast": expected requests per second at the peak, above 0',
      '--working-set: "0"; expected a size such as 40gb',
      "--reads is 2: expected a number from 0 to 1",
      "--value-size is 0: expected bytes, above 0",
      "--pipeline is 1.5: expected a whole number from 1 to 1000000",
      "--p99 is -1: expected milliseconds, above 0",
      "--replicas is 11: expected a whole number from 0 to 10",
      '--region is "x": expected one of us-west-2',
    ])
      expect(output).toContain(problem);
  });
});
