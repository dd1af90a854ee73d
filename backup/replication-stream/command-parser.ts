import { Failure } from "../../lib/errors";

export interface StreamCommand {
  readonly name: string;
  readonly words: readonly Buffer[];
  readonly bytes: Buffer;
}

/** Bytes after the last complete command are lost. */
export class StreamCorrupt extends Failure {
  constructor(problem: string) {
    super(`replication stream: ${problem}`);
    this.name = "StreamCorrupt";
  }
}

const CR = 13;
const LF = 10;
const [ARRAY, BULK] = [42, 36];
/** Highest number of digits in a count of arguments or bytes that a server accepts. */
const MAX_DIGITS = 12;
const MAX_WORDS = 1024 ** 2 * 64;
const MAX_WORD_BYTES = 1024 ** 3 * 4;
const MISSING = undefined;

export class CommandParser {
  #pieces: Buffer[] = [];
  #waiting = 0;
  #wanted = 0;

  /** Number of bytes that have arrived of a command that is not complete yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Keeps a part of the piece, so its bytes must not change later. @throws StreamCorrupt */
  push(piece: Buffer): StreamCommand[] {
    this.#pieces.push(piece);
    this.#waiting += piece.length;
    if (this.#waiting < this.#wanted) return [];
    const buffer = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    const commands: StreamCommand[] = [];
    let at = 0;
    for (;;) {
      const command = this.#parse(buffer, at);
      if (command === MISSING) break;
      commands.push(command);
      at += command.bytes.length;
    }
    this.#waiting = buffer.length - at;
    this.#pieces = this.#waiting === 0 ? [] : [buffer.subarray(at)];
    return commands;
  }

  #parse(buffer: Buffer, from: number): StreamCommand | undefined {
    this.#wanted = 0;
    const head = readNumber(buffer, from, ARRAY);
    if (head === MISSING) return MISSING;
    if (head.value < 1 || head.value > MAX_WORDS) throw new StreamCorrupt(`a command has ${head.value} words`);
    const words: Buffer[] = [];
    let at = head.next;
    while (words.length < head.value) {
      const size = readNumber(buffer, at, BULK);
      if (size === MISSING) return MISSING;
      if (size.value > MAX_WORD_BYTES) throw new StreamCorrupt(`an argument has ${size.value} bytes`);
      const end = size.next + size.value;
      if (end + 2 > buffer.length) {
        this.#wanted = end + 2 - from;
        return MISSING;
      }
      if (buffer[end] !== CR || buffer[end + 1] !== LF)
        throw new StreamCorrupt("an argument is longer than its length");
      words.push(buffer.subarray(size.next, end));
      at = end + 2;
    }
    return { name: (words[0] ?? buffer).toString("latin1").toUpperCase(), words, bytes: buffer.subarray(from, at) };
  }
}

function readNumber(buffer: Buffer, at: number, kind: number): { value: number; next: number } | undefined {
  if (at >= buffer.length) return MISSING;
  if (buffer[at] !== kind) throw new StreamCorrupt(`byte ${buffer[at] ?? 0} does not begin a command or an argument`);
  let value = 0;
  let index = at + 1;
  for (; index < buffer.length && index <= at + 1 + MAX_DIGITS; index++) {
    const digit = (buffer[index] ?? 0) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (index >= buffer.length) return MISSING;
  if (index === at + 1 || buffer[index] !== CR) throw new StreamCorrupt("a length is not a number");
  if (index + 1 >= buffer.length) return MISSING;
  if (buffer[index + 1] !== LF) throw new StreamCorrupt("a line does not end with CR and LF");
  return { value, next: index + 2 };
}
