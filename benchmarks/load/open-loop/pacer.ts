/**
 * A timer of the event loop fires up to a millisecond late, which would be part of every latency. So a timer is used
 * only until about two milliseconds before an intended time; then the loop spins if a reply is awaited, or naps: it
 * blocks its thread until a tenth of a millisecond before the time.
 */
import { epochMs } from "../../../lib/clock";

interface PacerCallbacks {
  readonly nextMs: () => number;
  /** Later intended times are dropped. */
  readonly endMs: number;
  /** Both times are in milliseconds since the epoch. */
  readonly onArrival: (intendedMs: number, nowMs: number) => void;
  readonly afterArrivals: () => void;
  readonly onTurn: (nowMs: number) => void;
  readonly isAwaitingReplies: () => boolean;
}

/** Arrivals in one turn of the loop. Between turns the process can read replies, even if the pacer is late. */
const MAX_PER_TURN = 128;
/** Milliseconds to an intended time for which the loop waits with a timer, during which replies can wake it. */
const TIMER_MS = 2.5;
/** Greatest lateness of a timer, milliseconds. */
const TIMER_LATE_MS = 1.5;
/** The loop naps only if more than twice this time is left. */
const NAP_LATE_MS = 0.08;
/** Time between two turns of the loop after the last arrival, milliseconds. */
const DRAIN_MS = 2;

const NAPPING = new Int32Array(new SharedArrayBuffer(4));

export class Pacer {
  #dueMs: number;
  #turnMs = 0;
  #wasBusy = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #idleMs = 0;
  #begunMs = 0;
  isDone = false;

  /** @param startMs time of the start, milliseconds since the epoch */
  constructor(
    private readonly startMs: number,
    private readonly callbacks: PacerCallbacks,
  ) {
    this.#dueMs = callbacks.nextMs();
  }

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

  /** This time then does not count as idle. */
  markBusy(): void {
    this.#wasBusy = true;
  }

  get busySeconds(): number {
    return Math.max(0, (this.#turnMs - this.#begunMs - this.#idleMs) / 1000);
  }

  /** A getter, because TypeScript would assume after a call that a field still has its earlier value. */
  get #stoppedNow(): boolean {
    return this.#isStopped;
  }

  #turn(): void {
    const { callbacks, startMs } = this;
    let nowMs = epochMs();
    let arrivals = 0;
    while (!this.isDone && arrivals < MAX_PER_TURN) {
      if (this.#dueMs >= callbacks.endMs) this.isDone = true;
      else if (startMs + this.#dueMs > nowMs) break;
      else {
        callbacks.onArrival(startMs + this.#dueMs, nowMs);
        arrivals++;
        this.#dueMs = callbacks.nextMs();
        nowMs = epochMs();
      }
    }
    if (arrivals > 0) callbacks.afterArrivals();
    if (arrivals === 0 && !this.#wasBusy) this.#idleMs += nowMs - this.#turnMs;
    this.#turnMs = nowMs;
    this.#wasBusy = false;
    callbacks.onTurn(nowMs);
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
    if (gap > 2 * NAP_LATE_MS && !this.callbacks.isAwaitingReplies()) Atomics.wait(NAPPING, 0, 0, gap - NAP_LATE_MS);
    this.#immediate = setImmediate(turn);
  }
}
