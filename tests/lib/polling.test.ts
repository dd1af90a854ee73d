import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Failure } from "../../lib/errors";
import { awaitCondition, holdsInTime, pause, poll, withTimeLimit } from "../../lib/polling";

describe("polling", () => {
  it("returns the first value that is found", async () => {
    let checks = 0;
    const found = await poll(() => (++checks === 3 ? "value" : undefined), { intervalMs: 1 });
    expect([found, checks]).toEqual(["value", 3]);
  });

  it("checks at least once, and once more when the time is up", async () => {
    let checks = 0;
    const count = (): boolean => ++checks > 100;
    expect(await holdsInTime(count, { timeoutMs: 0 })).toBe(false);
    expect(checks).toBe(1);
    expect(await holdsInTime(count, { timeoutMs: 5, intervalMs: 60_000 })).toBe(false);
    // Timers may fire a moment early; each time there is one more check.
    expect(checks).toBeGreaterThanOrEqual(3);
    expect(checks).toBeLessThan(20);
  });

  it("names the condition that did not hold in time", async () => {
    const waiting = awaitCondition("valkey-0 is back", () => false, { timeoutMs: 1 });
    await expect(waiting).rejects.toThrow("timed out after 0 s waiting until valkey-0 is back");
    await expect(waiting).rejects.toBeInstanceOf(Failure);
  });

  it("lets every node of a large deployment wait for one signal without a warning", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => {
      warnings.push(warning);
    };
    process.on("warning", listen);
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 200 }, () => pause(1, signal)));
    process.off("warning", listen);
    expect(warnings).toEqual([]);
  });

  it("ends at once with the reason of its signal, or with the error of the check", async () => {
    const stop = new AbortController();
    const waiting = poll(() => undefined, { intervalMs: 60_000, signal: stop.signal });
    stop.abort(new Error("stopped by the test"));
    await expect(waiting).rejects.toThrow("stopped by the test");
    await expect(pause(60_000, stop.signal)).rejects.toThrow("stopped by the test");
    await expect(poll(() => Promise.reject(new Error("unreachable")))).rejects.toThrow("unreachable");
  });
});

describe("a time limit", () => {
  const { signal } = new AbortController();

  it("aborts the work, even if memory was collected meanwhile", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const work = withTimeLimit(signal, 200, async (limited) => {
      for (let left = 5; left > 0; left--) {
        collect();
        await pause(1);
      }
      await pause(10_000, limited);
    });
    await expect(work).rejects.toThrow("the time limit has passed");
  });

  it("returns the result of the work, and passes on the reason of the signal", async () => {
    expect(await withTimeLimit(signal, 10_000, () => Promise.resolve("value"))).toBe("value");
    const stop = new AbortController();
    const work = withTimeLimit(stop.signal, 10_000, (limited) => pause(10_000, limited));
    stop.abort(new Failure("stopped"));
    await expect(work).rejects.toThrow("stopped");
  });

  it("does not end at once if it is longer than a timer can be", async () => {
    const work = withTimeLimit(signal, 2 ** 33, async (limited) => {
      await pause(20);
      return limited.aborted;
    });
    expect(await work).toBe(false);
  });
});
