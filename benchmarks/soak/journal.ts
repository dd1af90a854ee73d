/**
 * soak.jsonl: a line for each window of a soak, on disk before the next begins. A process that is killed loses the window that was
 * under way and nothing else; a line that it was writing is cut off when the soak is resumed.
 */
import { closeSync, existsSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { BadInput, Failure, messageOf } from "../errors";
import { identify, isAlive } from "../host/process-identity";
import { sampleSchema } from "./sample";

export const SOAK_JOURNAL = "soak.jsonl";

const identity = z.strictObject({ pid: z.int(), started: z.string() });

const headerSchema = z.strictObject({
  kind: z.literal("soak"),
  stack: z.string(),
  timestamp: z.string(),
  /** How long it shall last, and each window, seconds. */
  seconds: z.number().positive(),
  windowSeconds: z.number().positive(),
  rate: z.number().positive(),
  reads: z.number(),
  keySpace: z.int(),
  bytes: z.int(),
  /** Bytes that the servers' files may take. */
  diskBytes: z.number().positive(),
});
export type SoakHeader = z.infer<typeof headerSchema>;

const entrySchema = z.discriminatedUnion("kind", [
  /** Servers that were started, and where; the first time, and when those before are gone. Who is at work on it. */
  z.strictObject({ kind: z.literal("servers"), run: z.string(), version: z.string(), at: z.string() }),
  z.strictObject({ kind: z.literal("runner"), runner: identity, at: z.string() }),
  z.strictObject({
    kind: z.literal("window"),
    deployment: z.string(),
    at: z.string(),
    /** That the load lasted. */
    seconds: z.number(),
    offered: z.number(),
    acknowledged: z.number(),
    failed: z.number(),
    unknown: z.number(),
    /** Of acknowledged requests from the intended time: HDR's own format, microseconds. */
    latencies: z.string(),
    samples: z.array(sampleSchema),
    /** That the files of all servers of the run take. */
    diskBytes: z.number(),
  }),
]);
export type SoakEntry = z.infer<typeof entrySchema>;
export type SoakWindow = Extract<SoakEntry, { kind: "window" }>;

export class SoakJournal {
  private constructor(
    private readonly directory: string,
    private readonly file: number,
    readonly header: SoakHeader,
    private readonly found: SoakEntry[],
  ) {}

  static create(directory: string, header: SoakHeader): SoakJournal {
    if (existsSync(join(directory, SOAK_JOURNAL))) throw new BadInput(`output directory ${directory}`, ["holds a soak already; go on with it by --resume, or name another"]);
    try {
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, SOAK_JOURNAL), "", { flag: "wx" });
    } catch (error) {
      throw new BadInput(`output directory ${directory}`, [messageOf(error)]);
    }
    const journal = new SoakJournal(directory, openSync(join(directory, SOAK_JOURNAL), "a"), header, []);
    journal.#put(header);
    journal.#claim();
    return journal;
  }

  /** @throws BadInput when there is none, it is not readable, or the process that writes it is alive */
  static resume(directory: string): SoakJournal {
    const path = join(directory, SOAK_JOURNAL);
    if (!existsSync(path)) throw new BadInput("--resume", [`${directory} holds no ${SOAK_JOURNAL}`]);
    const { header, entries, whole } = parseSoak(readFileSync(path, "utf8"), path);
    const last = entries.filter((entry) => entry.kind === "runner").at(-1);
    if (last !== undefined && isAlive(last.runner)) throw new BadInput(directory, ["another process is at work on this soak"]);
    const file = openSync(path, "a+");
    ftruncateSync(file, whole);
    const journal = new SoakJournal(directory, file, header, entries);
    journal.#claim();
    return journal;
  }

  get entries(): readonly SoakEntry[] {
    return this.found;
  }

  get windows(): readonly SoakWindow[] {
    return this.found.filter((entry) => entry.kind === "window");
  }

  /** On the disk when this returns. */
  add(entry: SoakEntry): void {
    this.#put(entry);
    this.found.push(entry);
  }

  close(): void {
    closeSync(this.file);
  }

  #claim(): void {
    const runner = identify(process.pid);
    if (runner !== undefined) this.add({ kind: "runner", runner: { ...runner }, at: new Date().toISOString() });
  }

  #put(line: SoakHeader | SoakEntry): void {
    try {
      writeSync(this.file, `${JSON.stringify(line)}\n`);
      fsyncSync(this.file);
    } catch (error) {
      throw new Failure(`${SOAK_JOURNAL} cannot be written to ${this.directory}: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** @returns the length of what is whole, bytes */
export function parseSoak(text: string, file: string): { readonly header: SoakHeader; readonly entries: SoakEntry[]; readonly whole: number } {
  const end = text.lastIndexOf("\n") + 1;
  const [first, ...rest] = text.slice(0, end).split("\n").slice(0, -1);
  const parse = <T>(schema: z.ZodType<T>, line: string, number: number): T => {
    try {
      return schema.parse(JSON.parse(line));
    } catch (error) {
      throw new BadInput(file, [`line ${number} is no line of a soak of this version (${error instanceof z.ZodError ? (error.issues[0]?.message ?? "") : messageOf(error)})`]);
    }
  };
  return { header: parse(headerSchema, first ?? "", 1), entries: rest.map((line, index) => parse(entrySchema, line, index + 2)), whole: Buffer.byteLength(text.slice(0, end)) };
}
