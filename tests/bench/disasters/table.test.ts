import { describe, expect, it } from "vitest";
import { formatOutcome, formatTable, replaceTable } from "../../../bench/disasters/table";

const WHOLE = { lost: 0, outSeconds: 1.74, during: [], after: [] };

describe("a table of disasters", () => {
  it("says what was lost, for how long nobody could write, and what the verdict said", () => {
    expect(formatOutcome(WHOLE)).toBe("0 · 1.7 s · PASS");
    expect(formatOutcome({ ...WHOLE, lost: 12, during: ["links-up"] })).toBe("12 · 1.7 s · links-up, then PASS");
    expect(formatOutcome({ ...WHOLE, outSeconds: null, after: ["links-up", "zones-apart"] })).toBe(
      "0 · no end · FAIL: links-up, zones-apart",
    );
    expect(formatOutcome({ ...WHOLE, during: ["a", "b", "c", "d"] })).toBe("0 · 1.7 s · 4 assertions, then PASS");
    expect(formatOutcome(undefined)).toBe("–");
  });

  it("takes the place of the former one in a document, and keeps cells that were not tried", () => {
    const measured = { columns: ["`save`"], rows: [["process killed", [WHOLE]]] } as const;
    const table = formatTable(measured);
    expect(table.split("\n")).toEqual([
      "| disaster | `save` |",
      "| --- | --- |",
      "| process killed | 0 · 1.7 s · PASS |",
    ]);
    const document = "before\n<!-- a -->\n<!-- end of a -->\nafter\n";
    const written = replaceTable(document, "a", measured);
    expect(written).toBe(`before\n<!-- a -->\n${table}\n<!-- end of a -->\nafter\n`);
    expect(() => replaceTable(document, "b", measured)).toThrow("the document has no table b");
    const untried = {
      ...measured,
      rows: [
        ["process killed", [undefined]],
        ["frozen", [undefined]],
      ],
    } as const;
    expect(replaceTable(written, "a", untried)).toBe(written.replace(table, `${table}\n| frozen | – |`));
  });
});
