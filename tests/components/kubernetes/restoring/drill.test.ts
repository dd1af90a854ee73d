/** The time at which drills start. */
import { expect, it } from "vitest";
import { drillSchedule } from "../../../../components/kubernetes/restoring/drill";

it("starts at different times for different deployments, at a time that each month has", () => {
  const names = Array.from({ length: 200 }, (_, index) => `deployment-${index}`);
  const monthly = names.map((name) => drillSchedule(name, "monthly"));
  expect(new Set(monthly).size).toBeGreaterThan(190);
  for (const schedule of monthly) {
    const [minute, hour, day, ...others] = schedule.split(" ");
    expect([Number(minute) < 60, Number(hour) < 24, Number(day) >= 1, Number(day) <= 28]).toEqual(Array(4).fill(true));
    expect(others).toEqual(["*", "*"]);
  }
  const days = new Set(names.map((name) => drillSchedule(name, "weekly").split(" ")[4]));
  expect([...days].sort()).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
  expect(drillSchedule("orders", "daily")).toMatch(/^\d+ \d+ \* \* \*$/);
  expect(drillSchedule("orders", "daily")).toBe(drillSchedule("orders", "daily"));
});
