/** Context of a handler in an update that nobody watches and nobody cancels. */
import type { HandlerContext } from "../../../operations/protocol/resource-handler";

export const HANDLER_CONTEXT: HandlerContext = { signal: new AbortController().signal, report: () => undefined };
