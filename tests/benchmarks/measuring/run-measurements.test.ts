import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { interleave } from "../../../benchmarks/measuring/run-measurements";
import { forAll } from "../../support/properties";

describe("interleave", () => {
  it("measures every variant once a round, between reference loads", () => {
    const groups = fc.array(fc.uniqueArray(fc.nat(99), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });
    forAll([groups, fc.integer({ min: 1, max: 6 })], (variants, repeats) => {
      const tagged = variants.map((group, g) => group.map((v) => `${g}:${v}`));
      const steps = interleave(tagged, repeats);
      for (let round = 1; round <= repeats; round++) {
        const measured = steps.flatMap((step) =>
          step.kind === "measure" && step.round === round ? [step.variant] : [],
        );
        expect([...measured].sort()).toEqual([...tagged.flat()].sort());
      }
      expect(steps.filter((step) => step.kind === "reference-load").map(({ round }) => round)).toEqual(
        Array.from({ length: repeats + 1 }, (_, i) => i + 1),
      );
      expect([steps[0]?.kind, steps.at(-1)?.kind]).toEqual(["reference-load", "reference-load"]);
    });
  });

  it("reverses the order of deployments in every second round: A B, then B A", () => {
    const order = interleave([["a", "b"]], 2).flatMap((step) => (step.kind === "measure" ? [step.variant] : []));
    expect(order).toEqual(["a", "b", "b", "a"]);
  });
});
