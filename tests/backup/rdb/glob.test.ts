/** Patterns of keys. A test with real servers compares them with KEYS. */
import { expect, it } from "vitest";
import { KeySelection, ttlShift, KeyPattern } from "../../../backup/restoring/key-selection";

it.each([
  ["app:*", ["app:", "app:1", "app:a:b"], ["app", "xapp:1", "APP:1"]],
  ["*:end", [":end", "a:end", "a:end:end"], ["a:endx", "end"]],
  ["a*b*c", ["abc", "axxbyybzc"], ["abcd", "acb"]],
  ["h?llo", ["hello", "h\0llo"], ["hllo", "heello"]],
  ["h[ae]llo", ["hello", "hallo"], ["hillo"]],
  ["h[^e]llo", ["hallo"], ["hello"]],
  ["[a-c]", ["a", "b", "c"], ["d", "-"]],
  ["[c-a]", ["a", "b", "c"], ["d"]],
  ["\\*", ["*"], ["a", "\\*"]],
  ["[\\]x]", ["]", "x"], ["\\"]],
  ["", [""], ["a"]],
  ["*", ["", "a"], []],
  ["a\\", ["a\\"], ["a"]],
])("%s", (pattern, matching, others) => {
  const compiled = new KeyPattern(pattern);
  for (const key of matching) expect(compiled.matches(Buffer.from(key)), key).toBe(true);
  for (const key of others) expect(compiled.matches(Buffer.from(key)), key).toBe(false);
});

it("needs no time that grows with the number of stars", () => {
  expect(new KeyPattern(`${"*a".repeat(50)}b`).matches(Buffer.from("a".repeat(5000)))).toBe(false);
});

it("selects keys of any pattern, and names each pattern without a key", () => {
  const keys = new KeySelection(["a*", "*b", "c"]);
  expect(["ab", "x", "b"].map((key) => keys.has(Buffer.from(key)))).toEqual([true, false, true]);
  expect(keys.unmatched).toEqual(["c"]);
  expect(new KeySelection().has(Buffer.from("any"))).toBe(true);
});

it("moves TTLs by the time since the instant", () => {
  expect([ttlShift("absolute", 10, 30), ttlShift("remaining", 10.4, 30.1), ttlShift("remaining", 30, 10)]).toEqual([
    0, 20, 0,
  ]);
});
