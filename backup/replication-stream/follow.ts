/**
 * Follows the replication stream of a server as a replica, also after lost connections and failovers. Follow a replica
 * rather than a primary, whose WAIT and `min-replicas-to-write` would count this program.
 */
import { Failure, isCausedBy, messageOf } from "../../lib/errors";
import { epochMs } from "../../lib/clock";
import { pause } from "../../lib/polling";
import { PasswordRefused } from "../../valkey/connection";
import { type StreamCommand, CommandParser, StreamCorrupt } from "./command-parser";
import { type StreamPosition, type StreamSource, ReplicaLink, StreamRefused } from "./replica-link";
import { type Session, checkLink, isKnown, learnOffset, versionOf } from "./session";
import { readSnapshot } from "./snapshot";
import { Spool, SpoolFailed, SpoolFull } from "./spool";
import { type StreamUnit, StreamUnits } from "./stream-units";

export type StreamEvent =
  /** All earlier events belong to an earlier history, which ends here. */
  | { readonly kind: "base"; readonly position: StreamPosition; readonly serverVersion: string; readonly at: number }
  | { readonly kind: "base-bytes" }
  | { readonly kind: "base-end" }
  /**
   * Whole commands and transactions, up to `offset` in the stream. `at`: time, milliseconds since the epoch, at which
   * the server had sent exactly these bytes; undefined for commands executed at an unknown earlier time. `database`:
   * selected after them; undefined if none was selected on this connection: a replica passes on its primary's stream,
   * which selects no database for a new follower.
   */
  | {
      readonly kind: "commands";
      readonly offset: number;
      readonly database: number | undefined;
      readonly at: number | undefined;
    }
  /** The stream continues over a new connection, without a gap. After a failover, the replication ID is a new one. */
  | { readonly kind: "continued"; readonly replid: string }
  /** All that was sent until the time `at` has been received. Comes several times a second from a quiet server. */
  | { readonly kind: "quiet"; readonly at: number };

export interface StreamItem {
  readonly event: StreamEvent;
  readonly bytes: Buffer;
}

interface FollowOptions {
  /** Called before each connection, because a failover can change which server to follow. */
  readonly source: () => StreamSource | Promise<StreamSource>;
  readonly resume?: StreamPosition | undefined;
  readonly spoolDirectory: string;
  /** Highest number of bytes on disk that may wait for the consumer of the stream. */
  readonly spoolLimit: number;
  /** Called with a function that returns the number of bytes that wait for the consumer. */
  readonly onSpool?: ((waiting: () => number) => void) | undefined;
  readonly patienceMs?: number | undefined;
  /** Returns the time of an event, milliseconds since the epoch. @default the clock of this process */
  readonly now?: (() => number) | undefined;
  readonly signal: AbortSignal;
}

const ITEM_BYTES = 1024 ** 2;
const ACKNOWLEDGE_MS = 1_000;
const TICK_MS = 100;
const RETRY_MS = 200;
const MAX_RETRY_MS = 10_000;
/** Longest assumed time from the execution of a command on the server to its arrival here, milliseconds. */
const TRAVEL_MS = 100;
const PATIENCE_MS = 60_000;
const NONE = Buffer.alloc(0);

/** Items wait on disk, so a slow consumer does not slow the server down. @throws SpoolFull and SpoolFailed */
export async function* followStream(options: FollowOptions): AsyncGenerator<StreamItem, void, undefined> {
  const spool = new Spool<StreamEvent>(options.spoolDirectory, options.spoolLimit);
  options.onSpool?.(() => spool.waiting);
  const stop = new AbortController();
  const follower = new Follower(options, spool, AbortSignal.any([options.signal, stop.signal]));
  const receiving = follower.run().then(
    () => {
      spool.end();
    },
    (error: unknown) => {
      spool.end(error instanceof Error ? error : new Failure(String(error)));
    },
  );
  try {
    for (;;) {
      const next = await spool.take();
      if (next === undefined) return;
      yield { event: next.frame, bytes: next.bytes };
    }
  } finally {
    stop.abort();
    await receiving;
    await spool.close();
  }
}

class Follower {
  #position: StreamPosition | undefined;
  #lastContact = performance.now();
  #failures = 0;
  readonly #now: () => number;

  constructor(
    private readonly options: FollowOptions,
    private readonly spool: Spool<StreamEvent>,
    private readonly signal: AbortSignal,
  ) {
    this.#position = options.resume;
    this.#now = options.now ?? epochMs;
  }

  async run(): Promise<void> {
    const { patienceMs = PATIENCE_MS } = this.options;
    for (;;) {
      this.signal.throwIfAborted();
      try {
        await this.#connect();
      } catch (error) {
        this.signal.throwIfAborted();
        const isFinal = [SpoolFull, SpoolFailed, StreamRefused, StreamCorrupt, PasswordRefused].some((kind) =>
          isCausedBy(error, kind),
        );
        if (isFinal || !(error instanceof Failure || isSocketError(error))) throw error;
        if (performance.now() - this.#lastContact > patienceMs)
          throw new Failure(`the replication stream was lost: ${messageOf(error)}`, { cause: error });
      }
      // Each request for an RDB file makes the server fork, so tries that fail become rarer.
      await pause(Math.min(RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS), this.signal);
      this.#failures++;
    }
  }

  async #connect(): Promise<void> {
    const source = await this.options.source();
    const serverVersion = await versionOf(source);
    const link = await ReplicaLink.open(source);
    const onAbort = (): void => {
      link.close();
    };
    this.signal.addEventListener("abort", onAbort, { once: true });
    try {
      // A network that drops packets closes no connection.
      link.reader.silenceMs = this.options.patienceMs ?? PATIENCE_MS;
      const position = this.#position;
      const reply = await link.sync(position);
      this.#lastContact = performance.now();
      if (reply.kind === "full") {
        // Until the file has arrived as a whole, a lost connection needs a new file.
        this.#position = undefined;
        await this.#receiveBase(link, reply.position, serverVersion);
        this.#position = reply.position;
      } else if (position === undefined)
        throw new Failure(`${link.where} was asked for a copy of all data, but replied with CONTINUE`);
      else {
        this.#position = { ...position, replid: reply.replid };
        await this.spool.push({ kind: "continued", replid: reply.replid }, NONE);
      }
      const { offset } = this.#position;
      const session = {
        link,
        source,
        offset,
        knownFrom: undefined,
        hasBegun: false,
        tickedAt: -Infinity,
        lookedAt: performance.now(),
        isCutOff: false,
      };
      await this.#receive(session);
    } finally {
      this.signal.removeEventListener("abort", onAbort);
      link.close();
    }
  }

  async #receiveBase(link: ReplicaLink, position: StreamPosition, serverVersion: string): Promise<void> {
    await this.spool.push({ kind: "base", position, serverVersion, at: this.#now() }, NONE);
    for await (const piece of readSnapshot(link.reader)) {
      this.#lastContact = performance.now();
      await this.spool.push({ kind: "base-bytes" }, piece);
    }
    await this.spool.push({ kind: "base-end" }, NONE);
  }

  async #receive(session: Session): Promise<never> {
    let failed: unknown;
    const timer = setInterval(() => {
      this.#tick(session).catch((error: unknown) => {
        failed ??= error;
        session.link.close();
      });
    }, TICK_MS);
    try {
      return await this.#receiveCommands(session);
    } catch (error) {
      throw failed ?? error;
    } finally {
      clearInterval(timer);
    }
  }

  async #receiveCommands(session: Session): Promise<never> {
    const parser = new CommandParser();
    const units = new StreamUnits();
    for (;;) {
      const piece = await session.link.reader.piece();
      this.#lastContact = performance.now();
      const at = this.#now();
      if (!session.hasBegun) {
        session.hasBegun = true;
        learnOffset(session);
      }
      let ready: StreamUnit[] = [];
      let size = 0;
      let isAsked = false;
      for (const command of parser.push(piece)) {
        isAsked ||= isGetAck(command);
        const unit = units.add(command);
        if (unit === undefined) continue;
        ready.push(unit);
        size += unit.length;
        if (size < ITEM_BYTES) continue;
        await this.#deliver(session, ready, at);
        [ready, size] = [[], 0];
      }
      await this.#deliver(session, ready, at);
      if (isAsked) session.link.acknowledge(session.offset);
    }
  }

  async #deliver(session: Session, units: readonly StreamUnit[], arrived: number): Promise<void> {
    const last = units.at(-1);
    if (last === undefined) return;
    const bytes = Buffer.concat(units.flatMap(({ commands }) => commands.map((command) => command.bytes)));
    const offset = session.offset + bytes.length;
    const at = isKnown(session, offset) ? arrived : undefined;
    await this.spool.push({ kind: "commands", offset, database: last.database, at }, bytes);
    session.offset = offset;
    if (this.#position !== undefined) this.#position = { ...this.#position, offset };
    this.#failures = 0;
  }

  /** Throws if the server sends nothing for too long, or has lost its primary. */
  async #tick(session: Session): Promise<void> {
    // After a diskless RDB file, a server sends nothing until an acknowledgement arrives after the end of its child
    // process, which a replica does not see.
    const isDue = performance.now() - session.tickedAt >= ACKNOWLEDGE_MS;
    if (isDue || !session.hasBegun) session.link.acknowledge(session.offset);
    const silence = performance.now() - this.#lastContact;
    if (silence > TRAVEL_MS && isKnown(session, session.offset))
      await this.spool.push({ kind: "quiet", at: this.#now() - TRAVEL_MS }, NONE);
    if (!isDue) return;
    session.tickedAt = performance.now();
    if (session.knownFrom === undefined) learnOffset(session);
    checkLink(session);
    if (session.isCutOff) throw new Failure(`${session.link.where} has lost its primary`);
    const { patienceMs = PATIENCE_MS } = this.options;
    if (silence > patienceMs) throw new Failure(`${session.link.where} has sent nothing for ${patienceMs / 1000} s`);
  }
}

function isGetAck({ name, words }: StreamCommand): boolean {
  return name === "REPLCONF" && words[1]?.toString("latin1").toUpperCase() === "GETACK";
}

const isSocketError = (error: unknown): boolean => error instanceof Error && "code" in error && "syscall" in error;
