import { expect, it } from "vitest";
import { cannotReadDataOf, tagOf } from "../../../valkey/settings/version";

it.each([
  ["9.1.2", "8.1.1", true],
  ["9.1.2-alpine", "9.0.4-bookworm", true],
  ["9.0", "8", false], // A tag of the major version alone is looked at in the update.
  ["8.1.1", "9.1.2", false],
  ["9.1.2", "9.1.0", false],
  ["9.1.2", "9.1", false],
  ["10.0.1", "9.1.2", true],
  ["9.1.2", "10.0.0", false],
  ["9.1.2", "unstable", false],
  ["2024.11.1", "9.1.2", false],
])("data of %s, read by %s: refused %s", (from, to, refused) => {
  expect(cannotReadDataOf(from, to)).toBe(refused);
});

it("finds the tag of an image", () => {
  expect(tagOf("registry:5000/valkey/valkey:9.1.2@sha256:00ff")).toBe("9.1.2");
  expect(tagOf("registry:5000/valkey/valkey")).toBeUndefined();
  expect(tagOf("valkey@sha256:00ff")).toBeUndefined();
});
