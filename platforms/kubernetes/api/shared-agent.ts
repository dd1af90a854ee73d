/**
 * Connections to the API server that several requests share. The client library opens a new connection for each
 * request, and the TLS handshakes then need more CPU time than everything else.
 */
import { Agent } from "node:https";
import type { RequestContext, SecurityAuthentication } from "@kubernetes/client-node";

/**
 * Time after which an unused connection is closed, milliseconds. It is short, so that the next verification opens a new
 * connection, and no request waits for a connection that has broken in the meantime.
 */
const UNUSED_MS = 5_000;

/** Authenticates requests by the given method of authentication, and lets the requests share connections. */
export class SharedAgent implements SecurityAuthentication {
  #agent: Agent | undefined;
  /** Credentials and certificates of the shared agent, as one text. */
  #key = "";

  constructor(private readonly method: SecurityAuthentication) {}

  getName(): string {
    return this.method.getName();
  }

  async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await this.method.applySecurityAuthentication(context);
    const own = context.getAgent();
    // Agents of a subclass belong to proxies, and stay as they are.
    if (!(own instanceof Agent) || own.constructor !== Agent) return;
    // A certificate may have been replaced since the last request.
    const key = own.getName(own.options);
    if (this.#agent === undefined || key !== this.#key)
      this.#agent = new Agent({ ...own.options, keepAlive: true, timeout: UNUSED_MS });
    this.#key = key;
    context.setAgent(this.#agent);
  }
}
