/** Times as of which data are restored. */
import { expect, it } from "vitest";
import { parseInstant } from "../../../backup/restoring/instant";

it("takes a time with a time zone, on a day that exists", () => {
  expect(parseInstant("2026-11-24T08:00:00Z")).toBe(Date.UTC(2026, 10, 24, 8));
  expect(parseInstant("2026-11-24T01:00:00.250+02:00")).toBe(Date.UTC(2026, 10, 23, 23, 0, 0, 250));
  expect(parseInstant("2024-02-29T00:00Z")).toBe(Date.UTC(2024, 1, 29));
  // YAML has times, which Pulumi's engine passes on in the format of Go.
  expect(parseInstant("2026-11-24 08:00:00 +0000 UTC")).toBe(Date.UTC(2026, 10, 24, 8));
  expect(parseInstant("2026-11-24 01:00:00.25 +0200 +0200")).toBe(Date.UTC(2026, 10, 23, 23, 0, 0, 250));
  for (const text of [
    "2026-02-30 00:00:00 +0000 UTC",
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-11-24T08:00:00",
    "now",
  ])
    expect(parseInstant(text), text).toBeUndefined();
});
