import { afterEach, expect, it, vi } from "vitest";
import { describeStep, SteadyClock } from "../../lib/clock";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Replaces both clocks of the machine. A reading of the machine's clock takes `pauseMs` by the other clock. */
function fakeClocks(): { wall: number; steady: number; pauseMs: number } {
  const clocks = { wall: 1_000_000, steady: 0, pauseMs: 0 };
  vi.spyOn(performance, "now").mockImplementation(() => clocks.steady);
  vi.spyOn(Date, "now").mockImplementation(() => {
    const { wall } = clocks;
    clocks.steady += clocks.pauseMs;
    return wall;
  });
  return clocks;
}

it("never goes back by itself, and follows the machine's clock when it is set", () => {
  const clocks = fakeClocks();
  const steps: number[] = [];
  const { now } = new SteadyClock((stepMs) => steps.push(stepMs));
  expect(now()).toBe(1_000_000);
  clocks.steady = 100;
  clocks.wall = 999_500;
  expect(now()).toBe(1_000_100);
  clocks.steady = 200;
  clocks.wall = 1_003_600_200;
  expect([now(), now(), ...steps]).toEqual([1_003_600_200, 1_003_600_200, 1_002_600_000]);
  clocks.steady = 300;
  clocks.wall = 500_000;
  expect([now(), ...steps]).toEqual([500_000, 1_002_600_000, -1_003_100_300]);
});

it("takes a pause of the process between two readings for no step", () => {
  const clocks = fakeClocks();
  const steps: number[] = [];
  const { now } = new SteadyClock((stepMs) => steps.push(stepMs));
  clocks.pauseMs = 5_000;
  expect(now()).toBe(1_005_000);
  expect(steps).toEqual([]);
});

it("says by how much the clock was set", () => {
  expect(describeStep(-1500)).toMatch(/set back by 1.5 s;/);
  expect(describeStep(3_600_000)).toMatch(/set forward by 3600.0 s, or the machine was suspended;/);
});
