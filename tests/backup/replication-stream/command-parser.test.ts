import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CommandParser, StreamCorrupt } from "../../../backup/replication-stream/command-parser";
import { StreamUnits } from "../../../backup/replication-stream/stream-units";
import { forAll } from "../../support/properties";

const command = (...words: readonly (string | Uint8Array)[]): Buffer =>
  Buffer.concat([
    Buffer.from(`*${words.length}\r\n`),
    ...words.flatMap((word) => [
      Buffer.from(`$${Buffer.from(word).length}\r\n`),
      Buffer.from(word),
      Buffer.from("\r\n"),
    ]),
  ]);

const STREAM = Buffer.concat([
  command("SELECT", "3"),
  command("set", "key", "a\r\n*1\r\n$4\r\nEXEC\r\n"),
  command("MULTI"),
  command("INCR", "a"),
  command("SELECT", "0"),
  command("LPUSH", "b", ""),
  command("EXEC"),
  command("PING"),
]);

/** Names of the commands of each unit, and where the unit ends. */
function unitsOf(pieces: readonly Buffer[]): string[] {
  const parser = new CommandParser();
  const units = new StreamUnits();
  let offset = 0;
  return pieces.flatMap((piece) =>
    parser.push(piece).flatMap((each) => {
      const unit = units.add(each);
      if (unit === undefined) return [];
      offset += unit.length;
      return [`${unit.commands.map(({ name }) => name).join(" ")} @${offset} db${unit.database}`];
    }),
  );
}

describe("a replication stream", () => {
  it("is split into commands and whole transactions, wherever its pieces end", () => {
    const whole = unitsOf([STREAM]);
    expect(whole.map((unit) => unit.replace(/ @\d+/, ""))).toEqual([
      "SELECT db3",
      "SET db3",
      "MULTI INCR SELECT LPUSH EXEC db0",
      "PING db0",
    ]);
    expect(whole.at(-1)).toContain(`@${STREAM.length} `);
    for (let place = 0; place <= STREAM.length; place++)
      expect(unitsOf([STREAM.subarray(0, place), STREAM.subarray(place)])).toEqual(whole);
    expect(unitsOf([...STREAM].map((byte) => Buffer.from([byte])))).toEqual(whole);
  });

  it("gives back words of any bytes", () => {
    forAll([fc.array(fc.array(fc.uint8Array(), { minLength: 1 })), fc.nat()], (commands, place) => {
      const bytes = Buffer.concat(commands.map((words) => command(...words)));
      const cut = place % (bytes.length + 1);
      const parser = new CommandParser();
      const parsed = [...parser.push(bytes.subarray(0, cut)), ...parser.push(bytes.subarray(cut))];
      expect(parsed.map(({ words }) => words.map((word) => word.toString("hex")))).toEqual(
        commands.map((words) => words.map((word) => Buffer.from(word).toString("hex"))),
      );
      expect(Buffer.concat(parsed.map((each) => each.bytes))).toEqual(bytes);
      expect(parser.waiting).toBe(0);
    });
  });

  it("ends with an error for anything else, or waits for more", () => {
    for (const text of [
      "+OK\r\n",
      "*0\r\n",
      "*-1\r\n",
      "*1\r\n+PING\r\n",
      "*1\r\n$4\r\nPINGS\r\n",
      "*x\r\n",
      "*1\n",
      "*1\r$",
      "*9999999999999\r\n",
      "PING\r\n",
    ])
      expect(() => new CommandParser().push(Buffer.from(text)), text).toThrow(StreamCorrupt);
    forAll([fc.uint8Array({ maxLength: 100 })], (random) => {
      try {
        expect(new CommandParser().push(Buffer.concat([Buffer.from("*2\r\n$"), random]))).toBeDefined();
      } catch (error) {
        expect(error).toBeInstanceOf(StreamCorrupt);
      }
    });
    expect(() => new StreamUnits().add({ name: "SELECT", words: [], bytes: Buffer.alloc(0) })).toThrow(StreamCorrupt);
  });
});
