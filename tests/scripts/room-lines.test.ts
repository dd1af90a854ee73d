import { describe, expect, it } from "vitest";
import { tooLarge } from "../../scripts/room-lines";

describe("the lines of a room", () => {
  const rooms = { cli: { lines: 10 }, lib: { lines: 5 } };

  it("may be as many as rooms.json says", () => {
    expect(tooLarge({ cli: 10, lib: 1 }, rooms)).toEqual([]);
  });

  it("are refused when there are more, with the room, both numbers and what to do", () => {
    expect(tooLarge({ cli: 11, lib: 6 }, rooms)).toEqual([
      'cli/ has 11 lines, and may have 10: take something away, or raise "lines" in scripts/rooms.json',
      'lib/ has 6 lines, and may have 5: take something away, or raise "lines" in scripts/rooms.json',
    ]);
  });
});
