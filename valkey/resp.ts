/** The part of RESP2 that a client of many requests needs: commands as text, counted replies. */
/** Every character is one byte (latin1). */
export function encodeCommand(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
}

const CR = 13;
const LF = 10;
const MINUS = 45;
const ZERO = 48;
const DOLLAR = 36;
const STAR = 42;

/** @param error text of an error reply without the minus sign; undefined for all other replies */
type OnReply = (error: string | undefined) => void;

/** Skips the contents of replies, except the text of an error; an error inside an array is skipped. */
export class ReplyScanner {
  /** First byte of the current line; 0 between two lines. */
  #type = 0;
  #number = 0;
  #negative = false;
  #error = "";
  /** Number of bytes of a bulk string that have not arrived, including the line end. */
  #skip = 0;
  /** Number of elements of the current reply that have not arrived, over all levels of nesting. */
  #missing = 1;
  #isError = false;

  constructor(private readonly onReply: OnReply) {}

  feed(chunk: Buffer, length = chunk.length): void {
    let at = 0;
    while (at < length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, length - at);
        this.#skip -= skipped;
        at += skipped;
        if (this.#skip === 0) this.#element();
        continue;
      }
      const byte = chunk[at++] ?? 0;
      if (this.#type === 0) this.#begin(byte);
      else if (byte === LF) this.#line();
      else if (this.#type === DOLLAR || this.#type === STAR) this.#digit(byte);
      else if (this.#isError && byte !== CR) this.#error += String.fromCharCode(byte);
    }
  }

  #begin(byte: number): void {
    this.#type = byte;
    this.#number = 0;
    this.#negative = false;
    // An error inside an array counts as an ordinary element.
    this.#isError = byte === MINUS && this.#missing === 1 && !this.#inArray;
    this.#error = "";
  }

  #inArray = false;

  #digit(byte: number): void {
    if (byte === MINUS) this.#negative = true;
    else if (byte !== CR) this.#number = this.#number * 10 + byte - ZERO;
  }

  #line(): void {
    const type = this.#type;
    this.#type = 0;
    if (type === DOLLAR && !this.#negative) {
      this.#skip = this.#number + 2;
      return;
    }
    if (type === STAR && !this.#negative && this.#number > 0) {
      this.#missing += this.#number - 1;
      this.#inArray = true;
      return;
    }
    this.#element();
  }

  #element(): void {
    if (--this.#missing > 0) return;
    this.#missing = 1;
    this.#inArray = false;
    const error = this.#isError ? this.#error : undefined;
    this.#isError = false;
    this.onReply(error);
  }
}
