/**
 * Files of JSON lines: a header, then entries, each on disk before the next one. `resume` removes a line that a killed
 * process did not finish. Only one process writes to the log's directory.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { BadInput, Failure, messageOf } from "../errors";
import { claimOutput } from "./output-directory";

interface CheckpointLogContent<Header, Entry> {
  readonly header: Header;
  readonly entries: Entry[];
  readonly completeBytes: number;
}

interface CheckpointLogKind<Header, Entry> {
  readonly subject: string;
  readonly file: string;
  readonly header: z.ZodType<Header>;
  readonly entry: z.ZodType<Entry>;
}

export class CheckpointLogStore<Header extends { readonly timestamp: string }, Entry> {
  constructor(private readonly kind: CheckpointLogKind<Header, Entry>) {}

  /** @param release ends the claim on the directory, which else the log claims. @throws BadInput if a log exists */
  create(directory: string, header: Header, release?: () => void): CheckpointLog<Header, Entry> {
    const { subject, file } = this.kind;
    if (existsSync(join(directory, file)))
      throw BadInput.of(
        `output directory ${directory}`,
        "output-not-empty",
        `it holds a ${subject} already; continue the ${subject} with --resume, or name a different directory`,
      );
    return claimed(release ?? claimOutput(directory, "new"), (unlock) => {
      const path = join(directory, file);
      const log = new CheckpointLog<Header, Entry>(path, openSync(path, "ax", 0o644), header, [], unlock);
      log.writeLine(header);
      return log;
    });
  }

  resume(directory: string): CheckpointLog<Header, Entry> {
    const path = join(directory, this.kind.file);
    if (!existsSync(path))
      throw BadInput.of(
        "--resume",
        "nothing-to-resume",
        `${directory} holds no ${this.kind.file}; name the directory of an interrupted ${this.kind.subject}`,
      );
    return claimed(claimOutput(directory, "continued"), (unlock) => {
      const { header, entries, completeBytes } = this.parse(readFileSync(path, "utf8"), path);
      const file = openSync(path, "a+");
      ftruncateSync(file, completeBytes);
      return new CheckpointLog(path, file, header, entries, unlock);
    });
  }

  parse(text: string, file: string): CheckpointLogContent<Header, Entry> {
    const end = text.lastIndexOf("\n") + 1;
    const [first = "", ...rest] = text.slice(0, end).split("\n").slice(0, -1);
    const parse = <T>(schema: z.ZodType<T>, line: string, number: number): T => {
      try {
        return schema.parse(JSON.parse(line));
      } catch (error) {
        const what = error instanceof z.ZodError ? (error.issues[0]?.message ?? "") : messageOf(error);
        throw BadInput.of(
          file,
          "damaged-line",
          `line ${number} does not match the format of this version (${what}); start the ${this.kind.subject} again`,
        );
      }
    };
    return {
      header: parse(this.kind.header, first, 1),
      entries: rest.map((line, index) => parse(this.kind.entry, line, index + 2)),
      completeBytes: Buffer.byteLength(text.slice(0, end)),
    };
  }

  /** Logs that cannot be parsed are skipped. @returns the directory of the log */
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
}

/** The log ends the claim when it is closed. */
function claimed<T>(release: () => void, open: (release: () => void) => T): T {
  try {
    return open(release);
  } catch (error) {
    release();
    throw error;
  }
}

export class CheckpointLog<Header, Entry> {
  constructor(
    private readonly path: string,
    private readonly file: number,
    readonly header: Header,
    private readonly found: Entry[],
    /** Ends the claim of this process on the directory. */
    readonly release: () => void,
  ) {}

  get entries(): readonly Entry[] {
    return this.found;
  }

  /** When this method returns, the entry is on disk. @throws Failure when the entry cannot be written */
  add(entry: Entry): void {
    this.writeLine(entry);
    this.found.push(entry);
  }

  writeLine(line: Header | Entry): void {
    try {
      writeSync(this.file, `${JSON.stringify(line)}\n`);
      fsyncSync(this.file);
    } catch (error) {
      throw new Failure(`${this.path} cannot be written: ${messageOf(error)}`, { cause: error });
    }
  }

  close(): void {
    closeSync(this.file);
    this.release();
  }
}
