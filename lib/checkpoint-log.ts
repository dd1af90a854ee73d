/**
 * Journals: files of JSON lines, a header and then an entry each, every one on disk before the next begins. A process that is
 * killed loses what it had under way and nothing else; a line that it was writing is cut off when the journal is resumed. Beside
 * the file a lock names the process that writes it.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { BadInput, codeOf, Failure, messageOf } from "./errors";
import { identifyProcess, isProcessAlive } from "./process-identity";

/** What a journal's text holds. */
export interface CheckpointLogContent<Header, Entry> {
  readonly header: Header;
  readonly entries: Entry[];
  /** Bytes; what follows is a line that was never finished. */
  readonly completeBytes: number;
}

export interface CheckpointLogKind<Header, Entry> {
  /** What journals of this kind are of, for messages: `study`. */
  readonly subject: string;
  /** Its name in its directory; `.jsonl`, the lock's is the same with `.lock`. */
  readonly file: string;
  readonly header: z.ZodType<Header>;
  readonly entry: z.ZodType<Entry>;
}

const identitySchema = z.object({ pid: z.int(), started: z.string() });

/** All journals of a kind. */
export class CheckpointLogStore<Header extends { readonly timestamp: string }, Entry> {
  constructor(private readonly kind: CheckpointLogKind<Header, Entry>) {}

  /** Begins one; the directory is made where there is none. @throws BadInput when it holds one already or cannot be used */
  create(directory: string, header: Header): CheckpointLog<Header, Entry> {
    const { subject, file } = this.kind;
    if (existsSync(join(directory, file)))
      throw new BadInput(`output directory ${directory}`, [
        `holds a ${subject} already; go on with it by --resume, or name another`,
      ]);
    try {
      mkdirSync(directory, { recursive: true });
    } catch (error) {
      throw new BadInput(`output directory ${directory}`, [messageOf(error)]);
    }
    return this.#locked(directory, (unlock) => {
      const journal = new CheckpointLog<Header, Entry>(
        join(directory, file),
        openSync(join(directory, file), "ax", 0o644),
        header,
        [],
        unlock,
      );
      journal.writeLine(header);
      return journal;
    });
  }

  /**
   * Goes on with one.
   * @throws BadInput when there is none, it is not readable, or the process that writes it is alive
   */
  resume(directory: string): CheckpointLog<Header, Entry> {
    const path = join(directory, this.kind.file);
    if (!existsSync(path)) throw new BadInput("--resume", [`${directory} holds no ${this.kind.file}`]);
    return this.#locked(directory, (unlock) => {
      const { header, entries, completeBytes } = this.parse(readFileSync(path, "utf8"), path);
      const file = openSync(path, "a+");
      ftruncateSync(file, completeBytes);
      return new CheckpointLog(path, file, header, entries, unlock);
    });
  }

  /** @throws BadInput naming the first line that is none of such a journal */
  parse(text: string, file: string): CheckpointLogContent<Header, Entry> {
    const end = text.lastIndexOf("\n") + 1;
    const [first = "", ...rest] = text.slice(0, end).split("\n").slice(0, -1);
    const parse = <T>(schema: z.ZodType<T>, line: string, number: number): T => {
      try {
        return schema.parse(JSON.parse(line));
      } catch (error) {
        const what = error instanceof z.ZodError ? (error.issues[0]?.message ?? "") : messageOf(error);
        throw new BadInput(file, [
          `line ${number} is no line of a journal of this version (${what}); the ${this.kind.subject} has to begin anew`,
        ]);
      }
    };
    return {
      header: parse(this.kind.header, first, 1),
      entries: rest.map((line, index) => parse(this.kind.entry, line, index + 2)),
      completeBytes: Buffer.byteLength(text.slice(0, end)),
    };
  }

  /** The directory in there whose journal was begun last, of those that it is one of; those that cannot be read are passed over. */
  latest(parent: string, isWanted: (header: Header) => boolean): string | undefined {
    if (!existsSync(parent)) return undefined;
    const found = readdirSync(parent).flatMap((entry) => {
      const file = join(parent, entry, this.kind.file);
      try {
        const { header } = this.parse(readFileSync(file, "utf8"), file);
        return isWanted(header) ? [{ directory: join(parent, entry), timestamp: header.timestamp }] : [];
      } catch {
        return [];
      }
    });
    return found.sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1)).at(-1)?.directory;
  }

  /** The lock is kept as long as what is made under it is open. */
  #locked<T>(directory: string, make: (unlock: () => void) => T): T {
    const path = join(directory, this.kind.file.replace(/\.jsonl$/, ".lock"));
    const own = JSON.stringify(identifyProcess(process.pid) ?? null);
    try {
      writeFileSync(path, own, { flag: "wx" });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw new BadInput(`output directory ${directory}`, [messageOf(error)]);
      if (isHeld(path)) throw new BadInput(directory, [`another process is at work on this ${this.kind.subject}`]);
      writeFileSync(path, own);
    }
    const unlock = (): void => {
      rmSync(path, { force: true });
    };
    try {
      return make(unlock);
    } catch (error) {
      unlock();
      throw error;
    }
  }
}

/** Whether the process that a lock names is alive. */
function isHeld(lock: string): boolean {
  try {
    return isProcessAlive(identitySchema.parse(JSON.parse(readFileSync(lock, "utf8"))));
  } catch {
    return false;
  }
}

/** One that is being written. */
export class CheckpointLog<Header, Entry> {
  constructor(
    private readonly path: string,
    private readonly file: number,
    readonly header: Header,
    private readonly found: Entry[],
    private readonly unlock: () => void,
  ) {}

  get entries(): readonly Entry[] {
    return this.found;
  }

  /** Puts a line on the disk. It is there when this returns. @throws Failure when it cannot be written */
  add(entry: Entry): void {
    this.writeLine(entry);
    this.found.push(entry);
  }

  /** Likewise, of what is no entry. */
  writeLine(line: Header | Entry): void {
    try {
      writeSync(this.file, `${JSON.stringify(line)}\n`);
      fsyncSync(this.file);
    } catch (error) {
      throw new Failure(`${this.path} cannot be written to: ${messageOf(error)}`, { cause: error });
    }
  }

  close(): void {
    closeSync(this.file);
    this.unlock();
  }
}
