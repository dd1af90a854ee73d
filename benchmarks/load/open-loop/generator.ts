import type { Access, Mode } from "../../../valkey/node";
import { Failure } from "../../../lib/errors";
import type { ReadFrom } from "../../workloads/mixed-workload";
import type { LoadNode } from "./connections/load-node";
import type { OperationSource } from "./requests/operations";
import { epochMs } from "../../../lib/clock";
import { Pacer } from "./pacer";
import type { Random } from "../../../lib/statistics/random";
import { errorPrefix, parseRedirect } from "../../../valkey/error-replies";
import type { RequestObserver } from "./requests/request";
import { TimedRequest } from "./requests/request";
import { Router } from "./connections/router";
import type { DiscoverRoutes } from "./connections/routes";
import { RouteRefresher } from "./connections/routes";
import type { ArrivalSchedule } from "./requests/schedule";
import type { RequestOutcome } from "./tally";
import { addCount, Tally } from "./tally";

export interface OpenLoopGeneratorOptions {
  readonly mode: Mode;
  readonly access: Access;
  readonly discoverRoutes: DiscoverRoutes;
  /** Connections, shared evenly by the servers that requests go to. */
  readonly clients: number;
  /** Requests of one arrival, which are sent together where they go to the same server. */
  readonly pipeline: number;
  readonly readFrom: ReadFrom;
  readonly timeoutMs: number;
  /** Requests that may wait for a connection; more are not sent. */
  readonly queue: number;
  readonly seconds: number;
  readonly schedule: ArrivalSchedule;
  readonly source: OperationSource;
  /** For the choice of replicas. */
  readonly random: Random;
}

/** How long connections may take at the start. */
const OPEN_TIMEOUT_MS = 10_000;
/** Between looks for requests that have waited too long. */
const TIMEOUT_LOOK_MS = 10;
/** What a server says to whom it does not want, now or later. */
const REFUSED = /^(WRONGPASS|NOAUTH|NOPERM|ERR) /;
/** A request that is sent so often from one server to the next is given up on. */
const MOST_REDIRECTS = 16;
const TRY_AGAIN_MS = 2;
/** Errors that say that the routes are not what they were. */
const STALE = new Set(["READONLY", "MASTERDOWN", "CLUSTERDOWN", "LOADING"]);

const ACKNOWLEDGED: RequestOutcome = { kind: "acknowledged" };

export class OpenLoopGenerator {
  readonly tally = new Tally();
  #router: Router | undefined;
  readonly #refresher: RouteRefresher;
  /** Offered, and not yet settled; and of these, sent and not yet answered. */
  #unsettled = 0;
  #inFlight = 0;
  /** Servers with something new in their queue. */
  readonly #touched = new Set<LoadNode>();
  #pacer: Pacer | undefined;
  #endMs = Infinity;
  #lookAt = 0;
  #isOver = false;
  #finished: (() => void) | undefined;

  constructor(
    private readonly plan: OpenLoopGeneratorOptions,
    private readonly sink: RequestObserver = () => undefined,
  ) {
    this.#refresher = new RouteRefresher(plan.discoverRoutes, (routes) => this.#router?.applyRoutes(routes));
  }

  /**
   * Connects to every server.
   * @throws Failure naming every server that no connection reaches in time; the signal's reason
   */
  async open(signal: AbortSignal): Promise<void> {
    const { plan } = this;
    const router = new Router(
      plan,
      await plan.discoverRoutes(),
      {
        reply: (node, request, error) => {
          this.#reply(node, request, error);
        },
        disconnected: (_node, unanswered, reason) => {
          this.#lost(unanswered, reason);
        },
        sent: (request) => {
          this.#sent(request);
        },
      },
      plan.random,
    );
    this.#router = router;
    const deadline = Date.now() + OPEN_TIMEOUT_MS;
    while (router.nodes.some((node) => !node.isReady)) {
      signal.throwIfAborted();
      const refused = router.nodes.find(({ lastError }) => REFUSED.test(lastError ?? ""));
      if (refused !== undefined) throw new Failure(`${refused.name}: ${refused.lastError ?? ""}`);
      if (Date.now() > deadline) {
        const missing = router.nodes.filter((node) => !node.isReady);
        throw new Failure(
          missing
            .map(
              (node) =>
                `${node.name}: ${node.readyConnections} connections within ${OPEN_TIMEOUT_MS / 1000} s (${node.lastError ?? "no answer"})`,
            )
            .join("; "),
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /**
   * Offers requests from a moment on for the plan's seconds, and waits until each is settled.
   * @param startMs milliseconds since the epoch
   * @param signal ends the offering early; what is under way then is unknown
   */
  run(startMs: number, signal: AbortSignal): Promise<Tally> {
    const { schedule, seconds, pipeline } = this.plan;
    const { tally } = this;
    tally.fromMs = startMs;
    this.#endMs = startMs + seconds * 1000;
    const pacer = (this.#pacer = new Pacer(startMs, {
      nextMs: () => schedule.nextMs(),
      endMs: seconds * 1000,
      onArrival: (intendedMs, nowMs) => {
        tally.lag.record((nowMs - intendedMs) * 1000);
        for (let i = 0; i < pipeline; i++) this.#offer(intendedMs);
      },
      afterArrivals: () => {
        this.#pump();
      },
      onTurn: (nowMs) => {
        this.#look(nowMs);
      },
      isAwaitingReplies: () => this.#unsettled > 0,
    }));
    return new Promise((resolve) => {
      const end = (): void => {
        if (this.#isOver) return;
        this.#isOver = true;
        signal.removeEventListener("abort", end);
        pacer.stop();
        tally.busySeconds = pacer.busySeconds;
        this.#close();
        tally.toMs = Math.max(tally.toMs, Math.min(this.#endMs, epochMs()));
        resolve(tally);
      };
      this.#finished = () => {
        if (pacer.isDone && this.#unsettled === 0) end();
      };
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
      else pacer.start(() => this.#finished?.());
    });
  }

  /** Ends all connections; for a generator that has not run. */
  close(): void {
    this.#close();
  }

  #close(): void {
    const router = this.#router;
    this.#refresher.stop();
    for (const node of router?.nodes ?? []) {
      this.tally.reconnects += node.reconnects;
      for (const request of node.takeQueued()) this.#settle(request, { kind: "failed", error: "stopped" });
    }
    router?.close();
  }

  #offer(intendedMs: number): void {
    const { tally } = this;
    const request = new TimedRequest(this.plan.source.next(), intendedMs);
    tally.offered++;
    this.#unsettled++;
    if (this.#unsettled > tally.mostInFlight) tally.mostInFlight = this.#unsettled;
    // An arrival is put in the queue whole before any of it is sent.
    if (this.#unsettled - this.#inFlight > this.plan.queue + this.plan.pipeline)
      this.#settle(request, { kind: "failed", error: "queue-full" });
    else this.#dispatch(request);
  }

  #dispatch(request: TimedRequest, to = this.#router?.route(request)): void {
    if (to === undefined) this.#settle(request, { kind: "failed", error: "no-server" });
    else {
      to.enqueue(request);
      this.#touched.add(to);
    }
  }

  #pump(): void {
    for (const node of this.#touched) node.sendQueued();
    this.#touched.clear();
  }

  #sent(request: TimedRequest): void {
    this.#inFlight++;
    if (Number.isNaN(request.sentMs)) this.tally.sent++;
    request.sentMs = epochMs();
  }

  #reply(node: LoadNode, request: TimedRequest, error: string | undefined): void {
    this.#inFlight--;
    this.#pacer?.markBusy();
    if (error === undefined) this.#settle(request, ACKNOWLEDGED);
    else if (!this.#redirected(node, request, error)) {
      const kind = errorPrefix(error);
      if (STALE.has(kind)) this.#refresher.requestRefresh();
      this.#settle(request, { kind: "failed", error: kind });
    }
  }

  /** Follows a redirection. @returns whether the error was one */
  #redirected(node: LoadNode, request: TimedRequest, error: string): boolean {
    const redirect = parseRedirect(error, node.endpoint);
    // REDIRECT is sent only to clients that asked for it by CLIENT CAPA.
    if (redirect === undefined || redirect.kind === "REDIRECT") return false;
    addCount(this.tally.redirects, redirect.kind);
    if (++request.redirects > MOST_REDIRECTS) {
      this.#settle(request, { kind: "failed", error: "redirects" });
      return true;
    }
    if (redirect.kind === "TRYAGAIN") {
      setTimeout(() => {
        this.#again(request);
      }, TRY_AGAIN_MS);
      return true;
    }
    request.isAsking = redirect.kind === "ASK";
    if (redirect.kind === "MOVED") {
      this.#refresher.requestRefresh();
      this.#again(request, this.#router?.setSlotOwner(redirect.slot, redirect.endpoint));
    } else this.#again(request, this.#router?.nodeAt(redirect.endpoint));
    return true;
  }

  #again(request: TimedRequest, to?: LoadNode): void {
    if (this.#isOver) this.#settle(request, { kind: "failed", error: "stopped" });
    else {
      this.#dispatch(request, to ?? this.#router?.route(request));
      this.#pump();
    }
  }

  #lost(unanswered: readonly TimedRequest[], reason: string): void {
    this.#pacer?.markBusy();
    if (!this.#isOver) this.#refresher.requestRefresh();
    const deadlineMs = epochMs() - this.plan.timeoutMs;
    for (const request of unanswered) {
      this.#inFlight--;
      this.#settle(request, {
        kind: "unknown",
        error: reason === "stopped" ? "stopped" : request.intendedMs < deadlineMs ? "timeout" : "disconnected",
      });
    }
  }

  #look(nowMs: number): void {
    if (nowMs < this.#lookAt) return;
    this.#lookAt = nowMs + TIMEOUT_LOOK_MS;
    const deadlineMs = nowMs - this.plan.timeoutMs;
    for (const node of this.#router?.nodes ?? []) {
      for (const request of node.takeQueuedBefore(deadlineMs))
        this.#settle(request, { kind: "failed", error: "unavailable" });
      node.closeTimedOut(deadlineMs);
    }
  }

  #settle(request: TimedRequest, outcome: RequestOutcome): void {
    const { tally } = this;
    const doneMs = (request.doneMs = epochMs());
    this.#unsettled--;
    if (outcome.kind === "acknowledged") {
      tally.acknowledged++;
      if (doneMs <= this.#endMs) tally.acknowledgedInTime++;
      tally[request.operation.kind === "read" ? "reads" : "writes"].record((doneMs - request.intendedMs) * 1000);
    } else addCount(tally[outcome.kind], outcome.error);
    if (doneMs > tally.toMs) tally.toMs = doneMs;
    this.sink(request, outcome);
    if (this.#unsettled === 0) this.#finished?.();
  }
}
