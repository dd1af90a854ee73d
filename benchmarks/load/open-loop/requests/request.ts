/** A request from its intended time to its outcome. */
import type { Operation } from "./operations";

/** An operation with its times, in milliseconds since the epoch with fractions. */
export class TimedRequest<O extends Operation = Operation> {
  /** When the request was sent last; NaN before. */
  sentMs = NaN;
  /** When the request was settled; NaN before. */
  doneMs = NaN;
  /** Number of redirects followed. */
  redirects = 0;
  /** Whether ASKING precedes the request when it is sent next. */
  isAsking = false;

  constructor(
    readonly operation: O,
    readonly intendedMs: number,
  ) {}
}

/** Called once per request when it is settled. It must return quickly, because it delays sending. */
export type RequestObserver<O extends Operation = Operation> = (
  request: TimedRequest<O>,
  outcome: RequestOutcome,
) => void;

/** The outcome of one request. */
export type RequestOutcome =
  | { readonly kind: "acknowledged" }
  /** Refused or never sent: certainly not executed. */
  | { readonly kind: "failed"; readonly error: string }
  /** Sent without a reply: executed or not. */
  | { readonly kind: "unknown"; readonly error: string };
