/**
 * Wakes at intended times. Timers of the event loop come up to a millisecond late, which would be part of every latency; so
 * while an answer is awaited or the next time is near, the loop turns without sleeping, and else it naps to within a tenth of a
 * millisecond. How late it is all the same is what `arrive` is told.
 */
import { epochMs } from "../../../lib/clock";

export interface PacerCallbacks {
  /** The next intended time, milliseconds after the start. */
  readonly nextMs: () => number;
  /** No intended time at or after this one counts. */
  readonly endMs: number;
  /** An intended time has come. Both in milliseconds since the epoch. */
  readonly onArrival: (intendedMs: number, nowMs: number) => void;
  /** All that have come by now have been told. */
  readonly afterArrivals: () => void;
  /** Between arrivals, at every turn. */
  readonly onTurn: (nowMs: number) => void;
  /** Whether an answer may come at any moment. */
  readonly isAwaitingReplies: () => boolean;
}

/** Arrivals told in one turn, so that answers are read in between however far behind it is. */
const MOST_PER_TURN = 128;
/** Nearer than this, the loop turns; farther, it sleeps in a timer that answers wake it from. */
const TIMER_MS = 2.5;
/** A timer is late by up to so much. */
const TIMER_LATE_MS = 1.5;
/** A nap is late by about so much, and too short to be worth it below twice that. */
const NAP_LATE_MS = 0.08;
/** While nothing more is to be sent, between looks. */
const DRAIN_MS = 2;

const NAPPING = new Int32Array(new SharedArrayBuffer(4));

export class Pacer {
  #dueMs: number;
  #turnMs = 0;
  #hasWorked = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #idleMs = 0;
  #begunMs = 0;
  /** Whether every intended time has come. */
  isDone = false;

  /** @param startMs milliseconds since the epoch */
  constructor(
    private readonly startMs: number,
    private readonly pace: PacerCallbacks,
  ) {
    this.#dueMs = pace.nextMs();
  }

  /** @param done called when every intended time has come */
  start(done: () => void): void {
    this.#begunMs = this.#turnMs = epochMs();
    const turn = (): void => {
      if (this.#isStopped) return;
      this.#turn();
      if (this.isDone) done();
      if (!this.#stoppedNow) this.#next(turn);
    };
    this.#next(turn);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
  }

  /** Says that something was done between two turns. */
  markBusy(): void {
    this.#hasWorked = true;
  }

  /** Seconds of the time until now in which there was something to do. */
  get busySeconds(): number {
    return Math.max(0, (this.#turnMs - this.#begunMs - this.#idleMs) / 1000);
  }

  /** Asked after a call that may have stopped it. */
  get #stoppedNow(): boolean {
    return this.#isStopped;
  }

  #turn(): void {
    const { pace, startMs } = this;
    let nowMs = epochMs();
    let arrivals = 0;
    while (!this.isDone && arrivals < MOST_PER_TURN) {
      if (this.#dueMs >= pace.endMs) this.isDone = true;
      else if (startMs + this.#dueMs > nowMs) break;
      else {
        pace.onArrival(startMs + this.#dueMs, nowMs);
        arrivals++;
        this.#dueMs = pace.nextMs();
        nowMs = epochMs();
      }
    }
    if (arrivals > 0) pace.afterArrivals();
    if (arrivals === 0 && !this.#hasWorked) this.#idleMs += nowMs - this.#turnMs;
    this.#turnMs = nowMs;
    this.#hasWorked = false;
    pace.onTurn(nowMs);
  }

  #next(turn: () => void): void {
    const gap = this.isDone ? Infinity : this.startMs + this.#dueMs - epochMs();
    if (gap > TIMER_MS) {
      this.#timer = setTimeout(
        turn,
        Math.min(1000, this.isDone ? DRAIN_MS : Math.max(1, Math.floor(gap - TIMER_LATE_MS))),
      );
      return;
    }
    if (gap > 2 * NAP_LATE_MS && !this.pace.isAwaitingReplies()) Atomics.wait(NAPPING, 0, 0, gap - NAP_LATE_MS);
    this.#immediate = setImmediate(turn);
  }
}
