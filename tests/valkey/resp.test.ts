import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeCommand, ReplyScanner } from "../../valkey/resp";
import { forAll } from "../support/properties";

interface Reply {
  readonly text: string;
  readonly error: string | undefined;
}

const word = fc.string({ unit: fc.constantFrom("a", "b", " ", "-", ":", "$", "*", "1", "2"), maxLength: 12 });
const plain = (text: string): Reply => ({ text, error: undefined });
const scalar: fc.Arbitrary<Reply> = fc.oneof(
  word.map((text) => plain(`+${text}\r\n`)),
  fc.integer().map((number) => plain(`:${number}\r\n`)),
  fc
    .string({ unit: fc.constantFrom("a", "\r", "\n", "-", "*"), maxLength: 20 })
    .map((text) => plain(`$${text.length}\r\n${text}\r\n`)),
  fc.constantFrom(plain("$-1\r\n"), plain("*-1\r\n"), plain("*0\r\n"), plain("$0\r\n\r\n")),
);
const error = word.map((text): Reply => ({ text: `-ERR${text}\r\n`, error: `ERR${text}` }));
const array = (elements: fc.Arbitrary<Reply>): fc.Arbitrary<Reply> =>
  fc.array(elements, { maxLength: 4 }).map((all) => plain(`*${all.length}\r\n${all.map(({ text }) => text).join("")}`));
const reply = fc.oneof(scalar, error, array(fc.oneof(scalar, error)), array(array(scalar)));

describe("ReplyScanner", () => {
  it("finds every reply and the text of errors, wherever the chunks are cut", () => {
    forAll(
      [fc.array(reply, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 })],
      { numRuns: 300 },
      (replies, cuts) => {
        const found: (string | undefined)[] = [];
        const scanner = new ReplyScanner((each) => found.push(each));
        const bytes = Buffer.from(replies.map(({ text }) => text).join(""), "latin1");
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const size = cuts[cut % cuts.length] ?? 1;
          scanner.feed(bytes.subarray(at, at + size));
          at += size;
        }
        expect(found).toEqual(replies.map((each) => each.error));
      },
    );
  });

  it("reads a chunk up to the given length", () => {
    let replies = 0;
    new ReplyScanner(() => replies++).feed(Buffer.from("+OK\r\n+OK\r\n"), 5);
    expect(replies).toBe(1);
  });
});

describe("encodeCommand", () => {
  it("writes an array of bulk strings", () => {
    expect(encodeCommand(["SET", "k", ""])).toBe("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
  });
});
