import type { ClientWayFacts } from "../client-endpoints";
import { announcedViolations, describeAnnounced } from "./announced-endpoints";
import { type JudgedFacts, solePrimary } from "./shards";
import type { Judgement, Violation } from "./violations";

export function clientsLed({ nodes, mode, ways, announced = [], shards }: JudgedFacts): Judgement | undefined {
  if (ways === undefined && announced.length === 0) return undefined;
  const primary = mode === "cluster" ? undefined : solePrimary(shards);
  const nameOf = new Map(
    nodes.flatMap(({ node, info }) => (info.known ? [[info.value.get("run_id") ?? "", node.name] as const] : [])),
  );
  const all = nodes.map(({ node }) => node.name);
  const ofWays =
    ways?.known === false
      ? [{ node: "", problem: `the Services are unknown (${ways.why})` }]
      : (ways?.value.flatMap((way) => violationsOfWay(way, { all, primary, nameOf })) ?? []);
  const led = ways?.known === true ? ways.value.map((way) => `${way.service} to ${describeTarget(way)}`) : [];
  const expected = [...led, ...(announced.length === 0 ? [] : ["each announced endpoint to its node"])];
  const found = [...led, ...(announced.length === 0 ? [] : [describeAnnounced(announced)])];
  return {
    violations: [...ofWays, ...announcedViolations(announced)],
    expected: expected.join(", ") || "all",
    found: found.join(", "),
  };
}

function describeTarget({ to }: ClientWayFacts): string {
  return to === "all" ? "all" : "the primary";
}

interface Known {
  readonly all: readonly string[];
  readonly primary: string | undefined;
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
