import { describe, expect, it } from "vitest";
import { Failure } from "../../lib/errors";
import { awaitCondition, holdsInTime, pause, poll } from "../../lib/polling";

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
