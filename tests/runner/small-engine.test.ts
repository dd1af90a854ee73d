/** The small engine that runs programs in tests on Kubernetes. */
import { setTimeout as sleep } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { expect, it } from "vitest";
import { SmallEngine } from "../support/pulumi/small-engine";

class Thing extends pulumi.CustomResource {
  constructor(name: string, text: pulumi.Output<string>) {
    super("random:index:Thing", name, { text });
  }
}

it("fails once for an output that fails, however many resources depend on it", async () => {
  const engine = new SmallEngine({
    apply: (object) => Promise.resolve(object),
    read: () => Promise.resolve({}),
    delete: () => Promise.resolve(),
  });
  const up = engine.up(() => {
    const failing = pulumi.output(1).apply((): string => {
      throw new Error("the Secret has no such key");
    });
    for (const name of ["a", "b", "c"]) void new Thing(name, failing);
  });
  await expect(up).rejects.toThrow("the Secret has no such key");
  // Vitest fails the run for a rejection that nobody handles.
  await sleep(100);
});
