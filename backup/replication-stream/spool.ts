/**
 * A queue on disk between a server that must not wait and a slow consumer. A file loses its name at once, so that its
 * space is freed when all frames have been read, and also when this process is killed.
 */
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure, messageOf } from "../../lib/errors";

export class SpoolFull extends Failure {
  constructor(limit: number) {
    super(
      `the spool is full: ${limit} bytes of the replication stream wait for a consumer that is too slow; ` +
        "raise the limit, or make the consumer faster, and begin a new base",
    );
    this.name = "SpoolFull";
  }
}

/** For example because the disk is full. A new attempt does not help. */
export class SpoolFailed extends Failure {
  constructor(directory: string, cause: unknown) {
    super(`the spool in ${directory} cannot be used: ${messageOf(cause)}`, { cause });
    this.name = "SpoolFailed";
  }
}

interface Place<T> {
  readonly frame: T;
  readonly segment: Segment;
  readonly from: number;
  readonly length: number;
}

interface Segment {
  readonly path: string;
  readonly file: FileHandle;
  written: number;
  unread: number;
}

const SEGMENT_BYTES = 64 * 1024 ** 2;

export class Spool<T> {
  #number = 0;
  #segment: Segment | undefined;
  #places: Place<T>[] = [];
  #bytes = 0;
  #end: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;
  #pushed: Promise<void> = Promise.resolve();

  /** @param limit highest number of bytes that may wait */
  constructor(
    private readonly directory: string,
    private readonly limit: number,
  ) {}

  get waiting(): number {
    return this.#bytes;
  }

  /** @throws SpoolFull if the frame does not fit, SpoolFailed if the disk is full or too many files are open */
  push(frame: T, bytes: Buffer): Promise<void> {
    const pushed = this.#pushed.then(async () => {
      if (this.#bytes + bytes.length > this.limit) throw new SpoolFull(this.limit);
      await this.#guard(() => this.#append(frame, bytes));
    });
    this.#pushed = pushed.catch(() => undefined);
    return pushed;
  }

  async #append(frame: T, bytes: Buffer): Promise<void> {
    const segment = await this.#segmentForWriting();
    const from = segment.written;
    segment.written += bytes.length;
    segment.unread++;
    this.#bytes += bytes.length;
    for (let written = 0; written < bytes.length;) {
      const { bytesWritten } = await segment.file.write(bytes, written, bytes.length - written, from + written);
      written += bytesWritten;
    }
    this.#places.push({ frame, segment, from, length: bytes.length });
    this.#wake?.();
  }

  end(error?: Error): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  /** Only one call may wait at a time. @returns undefined after the last frame. @throws as `end` */
  async take(): Promise<{ readonly frame: T; readonly bytes: Buffer } | undefined> {
    while (this.#places.length === 0 && this.#end === undefined)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const place = this.#places.shift();
    if (place === undefined) {
      if (this.#end?.error !== undefined) throw this.#end.error;
      return undefined;
    }
    return { frame: place.frame, bytes: await this.#guard(() => this.#read(place)) };
  }

  async #read(place: Place<T>): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(place.length);
    for (let read = 0; read < place.length;) {
      const { bytesRead } = await place.segment.file.read(bytes, read, place.length - read, place.from + read);
      if (bytesRead === 0) throw new Failure(`${place.segment.path} has become shorter`);
      read += bytesRead;
    }
    this.#bytes -= place.length;
    place.segment.unread--;
    await this.#closeIfRead(place.segment);
    return bytes;
  }

  /** Turns errors of the file system into SpoolFailed, because errors of a connection to a server look the same. */
  async #guard<R>(use: () => Promise<R>): Promise<R> {
    try {
      return await use();
    } catch (error) {
      throw new SpoolFailed(this.directory, error);
    }
  }

  /** Frames that still wait are lost. */
  async close(): Promise<void> {
    this.end();
    await this.#pushed;
    const segments = new Set(this.#places.map(({ segment }) => segment));
    if (this.#segment !== undefined) segments.add(this.#segment);
    this.#places = [];
    this.#segment = undefined;
    for (const { file } of segments) await file.close();
  }

  async #segmentForWriting(): Promise<Segment> {
    const present = this.#segment;
    if (present !== undefined && present.written < SEGMENT_BYTES) return present;
    const path = join(this.directory, `spool-${this.#number++}`);
    this.#segment = { path, file: await open(path, "w+", 0o600), written: 0, unread: 0 };
    await rm(path);
    if (present !== undefined) await this.#closeIfRead(present);
    return this.#segment;
  }

  async #closeIfRead(segment: Segment): Promise<void> {
    if (segment !== this.#segment && segment.unread === 0) await segment.file.close();
  }
}
