/** A request, from its intended time to its outcome. */
import type { Operation } from "./operations";

/** An operation with its times. Times are in milliseconds since the epoch, with fractions. */
export class TimedRequest<O extends Operation = Operation> {
  /** Time at which the request was last sent. NaN for a request that was not sent yet. */
  sentMs = NaN;
  /** Time at which the outcome of the request became known. NaN until then. */
  doneMs = NaN;
  redirects = 0;
  /** Whether ASKING must precede the request when the request is sent next. */
  isAsking = false;

  constructor(
    readonly operation: O,
    readonly intendedMs: number,
  ) {}
}

/**
 * Called once for each request, when its outcome is known. The observer must return quickly, because a slow observer
 * delays the next requests.
 */
export type RequestObserver<O extends Operation = Operation> = (
  request: TimedRequest<O>,
  outcome: RequestOutcome,
) => void;

export type RequestOutcome =
  | { readonly kind: "acknowledged" }
  /** The request was refused or never sent. So the server certainly did not execute the request. */
  | { readonly kind: "failed"; readonly error: string }
  /** The request was sent and got no reply. It is unknown whether the server executed the request. */
  | { readonly kind: "unknown"; readonly error: string };
