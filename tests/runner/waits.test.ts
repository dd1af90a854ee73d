import { expect, it } from "vitest";
import { Waits } from "./waits";

it("seconds of waiting are those in which processors are idle, told by group and file", () => {
  const running = new Map<string, { group: string }>();
  const waits = new Waits(running);
  waits.close();
  const [user, idle] = [100, 1000];
  const stat = (used: number, unused: number): string =>
    `cpu  ${user + used} 0 0 ${idle + unused / 5} ${(unused * 4) / 5} 0 0 0 0 0\ncpu0 0\ncpu1 0\nintr 0\n`;
  waits.sample(stat(0, 0));
  waits.sample(stat(100, 100)); // one of two processors for 1 s, before a file runs
  for (const name of "ab") running.set(`tests/${name}.test.ts`, { group: "real" });
  running.set("tests/c.test.ts", { group: "pure" });
  waits.sample(stat(105, 495)); // both idle for 2 s
  running.delete("tests/a.test.ts");
  waits.sample(stat(295, 505)); // none idle for 1 s
  waits.sample(stat(505, 695)); // one idle for 2 s
  expect(waits.lines()).toEqual([
    "between files: 1 s, all processors idle 0 s, some idle 1 s",
    "real: 5 s, all processors idle 2 s, some idle 2 s; idle processor-seconds while these ran: b 6 s, a 4 s",
    "pure: 5 s, all processors idle 2 s, some idle 2 s; idle processor-seconds while these ran: c 6 s",
  ]);
});
