/** Checks that Services lead clients to the right servers. Pure. */
import type { Assertion, Violation } from "./assertion";
import { assertion } from "./assertion";
import type { ClientWayFacts } from "../client-endpoints";
import type { DeploymentFacts } from "./facts";

/**
 * Asserts that each host name for clients leads to the right servers. The list is empty if the platform has no such
 * names.
 * @param primary the only primary. Undefined if no node or several nodes report the role of a primary
 */
export function clientsLed({ nodes, ways }: DeploymentFacts, primary: string | undefined): Assertion[] {
  if (ways === undefined) return [];
  if (!ways.known)
    return [assertion("clients-led", "all", [{ node: "", problem: `the Services are unknown (${ways.why})` }])];
  const nameOf = new Map(
    nodes.flatMap(({ node, info }) => (info.known ? [[info.value.get("run_id") ?? "", node.name] as const] : [])),
  );
  const all = nodes.map(({ node }) => node.name);
  const violations = ways.value.flatMap((way) => violationsOfWay(way, { all, primary, nameOf }));
  const expected = ways.value.map(({ service, to }) => `${service} to ${to === "all" ? "all" : "the primary"}`);
  return [assertion("clients-led", expected.join(", "), violations)];
}

interface Known {
  readonly all: readonly string[];
  readonly primary: string | undefined;
  /** Names of nodes, by the run ID of the server. */
  readonly nameOf: ReadonlyMap<string, string>;
}

function violationsOfWay({ service, to, proxies, endpoints }: ClientWayFacts, known: Known): Violation[] {
  const { all, primary, nameOf } = known;
  const problem = (text: string, node = ""): Violation => ({ node, problem: `Service ${service} ${text}` });
  if (endpoints.length === 0) return [problem("has no endpoint")];
  const few =
    proxies === undefined || endpoints.length >= proxies
      ? []
      : [problem(`has ${endpoints.length} of ${proxies} proxies`)];
  const refused = endpoints.flatMap(({ pod, runId }) =>
    runId === undefined || runId.known
      ? []
      : [problem(`routes clients to the proxy ${pod}, which does not connect them to a server (${runId.why})`)],
  );
  const reached = endpoints.flatMap(({ pod, runId }) => {
    if (runId === undefined) return [pod];
    return runId.known ? [nameOf.get(runId.value) ?? `an unknown server behind ${pod}`] : [];
  });
  const wanted = to === "all" ? all : primary === undefined ? [] : [primary];
  const wrong = reached.filter((name) => !wanted.includes(name));
  const missing = refused.length > 0 ? [] : wanted.filter((name) => !reached.includes(name));
  return [
    ...few,
    ...refused,
    ...[...new Set(wrong)].map((name) =>
      problem(
        `routes clients to this server, which is not ${to === "all" ? "a node of the deployment" : "the primary"}`,
        name,
      ),
    ),
    ...missing.map((name) => problem("does not route clients to this server", name)),
  ];
}
