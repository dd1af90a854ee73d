/**
 * journal.jsonl: everything a study has finished, a line each, on disk before the next begins. A process that is killed loses
 * what it was measuring and nothing else; the line it was writing, if any, is cut off when the study is resumed.
 */
import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { BadInput, codeOf, Failure, messageOf } from "../errors";
import { identify, isAlive } from "../host/process-identity";
import { growthSchema } from "../results/study-schema";
import { measurementSchema, topologySchema } from "../results/schema";

export const JOURNAL = "journal.jsonl";
const LOCK = "journal.lock";

const count = z.number().min(0);

const headerSchema = z.strictObject({
  kind: z.literal("study"),
  name: z.string(),
  fingerprint: z.string(),
  seed: z.int(),
  /** UTC, as results have it. */
  timestamp: z.string(),
  /** What the machine is told apart by. */
  machine: z.string(),
});
export type JournalHeader = z.infer<typeof headerSchema>;

const entrySchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("canary"), round: z.int(), place: z.int(), rps: count, startedAt: z.iso.datetime(), seconds: count }),
  z.strictObject({
    kind: z.literal("cell"),
    round: z.int(),
    cell: z.string(),
    /** From the start of its servers to their end. */
    seconds: count,
    records: z.array(measurementSchema),
    topology: topologySchema,
    growth: growthSchema.nullable(),
  }),
  z.strictObject({ kind: z.literal("failure"), round: z.int(), cell: z.string(), seconds: count, reason: z.string() }),
]);
export type JournalEntry = z.infer<typeof entrySchema>;
export type CellEntry = Extract<JournalEntry, { kind: "cell" }>;

/** What a journal's text holds. @returns the length of what is whole, bytes; what follows is a line that was never finished */
export function parseJournal(text: string, file: string): { readonly header: JournalHeader; readonly entries: JournalEntry[]; readonly whole: number } {
  const end = text.lastIndexOf("\n") + 1;
  const [first, ...rest] = text.slice(0, end).split("\n").slice(0, -1);
  const parse = <T>(schema: z.ZodType<T>, line: string | undefined, number: number): T => {
    try {
      return schema.parse(JSON.parse(line ?? ""));
    } catch (error) {
      const what = error instanceof z.ZodError ? (error.issues[0]?.message ?? "") : messageOf(error);
      throw new BadInput(file, [`line ${number} is no line of a journal of this version (${what}); the study has to begin anew`]);
    }
  };
  const header = parse(headerSchema, first, 1);
  return { header, entries: rest.map((line, index) => parse(entrySchema, line, index + 2)), whole: Buffer.byteLength(text.slice(0, end)) };
}

export class Journal {
  private constructor(
    private readonly directory: string,
    private readonly file: number,
    readonly header: JournalHeader,
    private readonly found: JournalEntry[],
  ) {}

  /** Begins one. @param directory is there, and holds none */
  static create(directory: string, header: JournalHeader): Journal {
    lock(directory);
    const file = openSync(join(directory, JOURNAL), "ax", 0o644);
    const journal = new Journal(directory, file, header, []);
    journal.#put(header);
    return journal;
  }

  /**
   * Goes on with one.
   * @throws BadInput when there is none, it is not readable, or the process that writes it is alive
   */
  static resume(directory: string): Journal {
    const path = join(directory, JOURNAL);
    if (!existsSync(path)) throw new BadInput("--resume", [`${directory} holds no ${JOURNAL}`]);
    lock(directory);
    try {
      const { header, entries, whole } = parseJournal(readFileSync(path, "utf8"), path);
      const file = openSync(path, "a+");
      ftruncateSync(file, whole);
      return new Journal(directory, file, header, entries);
    } catch (error) {
      rmSync(join(directory, LOCK), { force: true });
      throw error;
    }
  }

  get entries(): readonly JournalEntry[] {
    return this.found;
  }

  /** Puts a line on the disk. It is there when this returns. */
  add(entry: JournalEntry): void {
    this.#put(entry);
    this.found.push(entry);
  }

  close(): void {
    closeSync(this.file);
    rmSync(join(this.directory, LOCK), { force: true });
  }

  #put(line: JournalHeader | JournalEntry): void {
    try {
      writeSync(this.file, `${JSON.stringify(line)}\n`);
      fsyncSync(this.file);
    } catch (error) {
      throw new Failure(`${JOURNAL} cannot be written to ${this.directory}: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** Whether a process that lives is at work in there. */
export function isLocked(directory: string): boolean {
  try {
    const holder = z.object({ pid: z.int(), started: z.string() }).parse(JSON.parse(readFileSync(join(directory, LOCK), "utf8")));
    return isAlive(holder);
  } catch {
    return false;
  }
}

function lock(directory: string): void {
  const own = JSON.stringify(identify(process.pid));
  const path = join(directory, LOCK);
  try {
    writeFileSync(path, own, { flag: "wx" });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (isLocked(directory)) throw new BadInput(directory, ["another process is at work on this study"]);
    writeFileSync(path, own);
  }
}
