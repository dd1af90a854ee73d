/** An operation on its way: when it was meant to be sent, when it was, and how it ended. */
import type { Operation } from "./operations";
import type { RequestOutcome } from "../tally";

/** Times are milliseconds since the epoch, with fractions. */
export class TimedRequest<O extends Operation = Operation> {
  /** NaN while it has not been sent. */
  sentMs = NaN;
  /** NaN while it is not settled. */
  doneMs = NaN;
  redirects = 0;
  /** Whether ASKING goes before it, the next time it is sent. */
  isAsking = false;

  constructor(
    readonly operation: O,
    readonly intendedMs: number,
  ) {}
}

/** Told of every request once, when it is settled; it must be quick, for sending waits for it. */
export type RequestObserver<O extends Operation = Operation> = (
  request: TimedRequest<O>,
  outcome: RequestOutcome,
) => void;
