import { codeOf, messageOf } from "../../../lib/errors";

export interface ApiServer {
  readonly context: string;
  readonly server: string;
}

interface ApiStatus {
  readonly code: number;
  readonly message: string;
}

/** RBAC's message: `User "x" cannot create resource "pods/portforward" in API group "" in the namespace "y"`. */
const FORBIDDEN =
  /User "([^"]+)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;

export function statusInError(error: unknown): ApiStatus | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "number") return undefined;
  const body: unknown = "body" in error ? error.body : undefined;
  return parseStatus(error.code, body);
}

export function parseStatus(status: number, body: unknown): ApiStatus {
  const parsed = typeof body === "string" ? parseJson(body) : body;
  const message =
    typeof parsed === "object" && parsed !== null && "message" in parsed && typeof parsed.message === "string"
      ? parsed.message
      : typeof body === "string"
        ? body.trim()
        : "";
  return { code: status, message: message === "" ? `HTTP status ${status}` : message };
}

/** @param doing the failed request, such as `reading the pods of namespace x` */
export function explainStatus({ code, message }: ApiStatus, doing: string, { context }: ApiServer): string {
  if (code === 401)
    return (
      `${doing}: the API server does not accept the credentials of context ${context}; ` +
      "log in again, or name a different context"
    );
  const forbidden = FORBIDDEN.exec(message);
  if (code === 403 && forbidden !== null) {
    const [, user = "", verb = "", resource = "", group = "", namespace] = forbidden;
    const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
    const kind = namespace === undefined ? "ClusterRole" : "Role";
    // A port-forward over a websocket is a GET. Depending on its version Kubernetes requires "get", "create" or both.
    const verbs = resource === "pods/portforward" ? `"create", "get"` : `"${verb}"`;
    const rule = `apiGroups ["${group}"], resources ["${resource}"], verbs [${verbs}]`;
    return `${doing}: ${user} may not ${verb} ${resource}${where}; grant this user a ${kind} with ${rule}`;
  }
  return `${doing}: ${message}`;
}

export function explainApiError(error: unknown, doing: string, api: ApiServer): string {
  const refusal = statusInError(error);
  if (refusal !== undefined) return explainStatus(refusal, doing, api);
  const reason = messageOf(error)
    .replace(/^request to \S+ failed, reason: /, "")
    .trim();
  const what = reason === "" ? (codeOf(error) ?? "no reason given") : reason;
  const server = `the API server of context ${api.context} (${api.server})`;
  if (/abort|timed? ?out/i.test(what))
    return `${doing}: ${server} does not answer; check that the cluster runs and that this machine can reach it`;
  if (isUnreachable(codeOf(error), what))
    return `${doing}: ${server} cannot be reached: ${what}; check that the cluster runs and that the context is right`;
  return `${doing}: ${what}`;
}

function isUnreachable(code: string | undefined, what: string): boolean {
  return (
    /^(E[A-Z]+|DEPTH_ZERO_.*|SELF_SIGNED_.*|UNABLE_TO_.*|CERT_.*)$/.test(code ?? "") ||
    /ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|certificate|socket hang up/.test(what)
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
