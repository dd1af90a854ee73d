import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Semaphore } from "../../lib/semaphore";

describe("a semaphore", () => {
  it("runs every task, and never more than allowed at once, whichever fail", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.boolean(), { maxLength: 30 }),
        fc.scheduler(),
        async (atOnce, fails, scheduler) => {
          const turns = new Semaphore(atOnce);
          let now = 0;
          let most = 0;
          const work = fails.map((fail) =>
            turns.run(async () => {
              most = Math.max(most, ++now);
              await scheduler.schedule(Promise.resolve());
              now--;
              if (fail) throw new Error("failed");
            }),
          );
          const results = Promise.allSettled(work);
          await scheduler.waitFor(results);
          expect((await results).map(({ status }) => status === "rejected")).toEqual(fails);
          expect(most).toBe(Math.min(atOnce, fails.length));
        },
      ),
    );
  });
});
