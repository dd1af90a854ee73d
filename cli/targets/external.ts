import { compact } from "../../lib/compact";
import { type Problem, BadInput, messageOf, problem } from "../../lib/errors";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { isLocalHost } from "../../platforms/external-servers";
import { connect } from "../../valkey/connection";
import { withEveryNode } from "../../valkey/connections";
import { type NodeAccess, type DeploymentNode, type Mode, formatEndpoint } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { observed, unobserved } from "../../valkey/observation";
import { parseInfo } from "../../valkey/topology/replies";
import { type NodeFacts, type OptionalAssertion, OPTIONAL_ASSERTIONS } from "../../valkey/verification/facts";
import { type OptionValues, textOption } from "../running/options";
import { namesOfOneServer, wrongMode } from "../../valkey/verification/shared-assertions";

/** Pattern of a node: `HOST:PORT` or `HOST:PORT=ZONE`; IPv6 addresses are in brackets. */
const NODE = /^(?:\[([0-9a-fA-F:]+)\]|([^:=\s[\]]+)):(\d{1,5})(?:=(\S+))?$/;

const optionsSchema = z.object({
  mode: z.enum(["cluster", "replication"], "expected cluster or replication"),
  node: z.array(z.string()).default([]),
  nodes: z.string().optional(),
  user: z.string().min(1).optional(),
  tls: z.boolean().default(false),
  cacert: z.string().optional(),
  cert: z.string().optional(),
  key: z.string().optional(),
  sni: z.string().optional(),
  insecure: z.boolean().default(false),
  primaries: z.coerce.number("expected a whole number of at least 1").int().min(1).optional(),
  replicas: z.coerce.number("expected a whole number, such as 0 or 1").int().min(0).optional(),
  without: z.array(z.enum(OPTIONAL_ASSERTIONS, `expected ${OPTIONAL_ASSERTIONS.join(", ")}`)).default([]),
});

export interface ExternalDeployment {
  readonly deployment: Deployment;
  readonly without: readonly OptionalAssertion[];
  readonly here: boolean;
}

/** The password comes from VALKEY_PASSWORD, never from an option. */
export function externalDeployment(
  values: OptionValues,
  environment: NodeJS.ProcessEnv = process.env,
  others: readonly Problem[] = [],
): ExternalDeployment {
  const parsed = optionsSchema.safeParse(values);
  const found = parsed.success
    ? []
    : parsed.error.issues.map(({ path: [name], message }) => {
        const isMissing = values[String(name)] === undefined;
        const text = `${isMissing ? "is missing; " : ""}${message}`;
        return problem(isMissing ? "missing" : "wrong-value", `--${String(name)}`, text);
      });
  const problems = [...others, ...found];
  const given = [
    ...[values["node"] ?? []].flat().map(String),
    ...(typeof values["nodes"] === "string" ? nodesIn(values["nodes"], problems) : []),
  ];
  const nodes = given.flatMap((text) => parseNode(text, problems));
  const remedy = "name every node as HOST:PORT=ZONE, or name a file of nodes with --nodes";
  if (given.length === 0) problems.push(problem("missing", "--node", remedy));
  const count = textOption(values["primaries"]) ?? "1";
  if (values["mode"] === "replication" && count !== "1")
    problems.push(problem("one-primary", "--primaries", `is ${count}; a replication has 1 primary`));
  problems.push(...ignoredProblems(values, environment));
  const names = nodes.map(({ name }) => name);
  for (const name of new Set(names.filter((each, index) => names.indexOf(each) < index)))
    problems.push(problem("node-twice", "--node", `${name} is named twice`));
  if (!parsed.success || problems.length > 0) throw new BadInput("servers", problems);
  const { mode, user, primaries, replicas, without, ...files } = parsed.data;
  const access = accessOf(files, user, environment["VALKEY_PASSWORD"]);
  return {
    deployment: {
      name: mode,
      mode,
      shape: shapeOf(mode, primaries, replicas),
      nodes,
      directives: new Map(),
      access,
      connect: (node, timeoutMs) => connect(node.name, node.endpoint, access, timeoutMs),
    },
    without,
    here: nodes.every(({ endpoint }) => isLocalHost(endpoint.host)),
  };
}

/** Options that would change nothing without a different one. */
function ignoredProblems(values: OptionValues, { VALKEY_PASSWORD: password = "" }: NodeJS.ProcessEnv): Problem[] {
  const { user, cert, key } = values;
  const needs = (option: string, what: string): Problem => problem("ignored", option, ` needs ${what}`);
  return compact([
    user !== undefined && password === "" ? needs("--user", "the password of this user in VALKEY_PASSWORD") : undefined,
    cert !== undefined && key === undefined ? needs("--cert", "the private key of the certificate, --key") : undefined,
    key !== undefined && cert === undefined ? needs("--key", "the client certificate, --cert") : undefined,
  ]);
}

const IDENTIFY_MS = 2_000;

/** Such as `localhost:7001` and `127.0.0.1:7001`. @throws BadInput with the names; a silent server is not compared */
export async function refuseSameServers(deployment: Deployment): Promise<void> {
  const problems = sameServerProblems(await identifyServers(deployment));
  if (problems.length > 0) throw new BadInput("servers", problems);
}

/** For commands without a verification: servers of a different mode would be used without the rest of their cluster. */
export async function refuseUnlikeServers(deployment: Deployment): Promise<void> {
  const nodes = await identifyServers(deployment);
  const { name, mode, shape, directives } = deployment;
  const wrong = wrongMode({ deployment: name, mode, shape, directives, nodes, skippedAssertions: [] });
  const violations = wrong?.violations ?? [];
  const unlike = violations.map(({ node, problem: text }) => problem("wrong-mode", node, ` ${text}`));
  const problems = [...sameServerProblems(nodes), ...unlike];
  if (problems.length > 0) throw new BadInput("servers", problems);
}

function sameServerProblems(nodes: readonly IdentifiedServer[]): Problem[] {
  const servers = nodes.map(({ node: { name }, info, nodeId }) => {
    return { name, runId: info.known ? info.value.get("run_id") : undefined, nodeId };
  });
  return namesOfOneServer(servers).map((names) =>
    problem("node-twice", "--node", `${names.join(" and ")} are the same server; name it once`),
  );
}

interface IdentifiedServer extends NodeFacts {
  readonly nodeId: string | undefined;
}

function identifyServers(deployment: Deployment): Promise<IdentifiedServer[]> {
  const connect: Deployment["connect"] = (node) => deployment.connect(node, IDENTIFY_MS);
  const unasked = unobserved("not asked");
  return withEveryNode({ ...deployment, connect }, (attempts) =>
    Promise.all(
      attempts.map(async ({ node, connection }): Promise<IdentifiedServer> => {
        // A server that answers CLUSTER INFO passes for a node of a cluster.
        const ofCluster = deployment.mode === "cluster" ? connection?.cluster("INFO") : undefined;
        const [info, clusterInfo, nodeId] = await Promise.all(
          [connection?.info("server"), ofCluster, connection?.cluster("MYID")].map(async (reply) =>
            reply?.then(String).catch(() => undefined),
          ),
        );
        return {
          ...{ node, nodeId, view: unasked, settings: unasked, keys: unasked },
          info: info === undefined ? unasked : observed(parseInfo(info)),
          clusterInfo: clusterInfo === undefined ? unasked : observed(parseInfo(clusterInfo)),
        };
      }),
    ),
  );
}

function parseNode(text: string, problems: Problem[]): DeploymentNode[] {
  const match = NODE.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65535) {
    const message = `${text} is not a node; expected HOST:PORT=ZONE, such as 127.0.0.1:7001=zone-a`;
    problems.push(problem("not-a-node", "--node", message));
    return [];
  }
  const host = match[1] ?? match[2] ?? "";
  const endpoint = { host, port };
  return [{ name: formatEndpoint(endpoint), zone: match[4], machine: host, endpoint }];
}

function nodesIn(file: string, problems: Problem[]): string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.replace(/#.*/, "").trim().replace(/\s+/, "="))
      .filter((line) => line !== "");
  } catch (error) {
    problems.push(problem("unreadable", "--nodes", messageOf(error)));
    return [];
  }
}

function shapeOf(mode: Mode, primaries: number | undefined, replicas: number | undefined): Deployment["shape"] {
  return {
    ...(mode === "replication" ? { primaries: 1 } : primaries === undefined ? {} : { primaries }),
    ...(replicas === undefined ? {} : { replicasPerPrimary: replicas }),
  };
}

function accessOf(
  { tls, cacert, cert, key, sni, insecure }: Omit<z.infer<typeof optionsSchema>, "mode" | "without">,
  username: string | undefined,
  password: string | undefined,
): NodeAccess {
  const wantsTls = tls || insecure || [cacert, cert, key, sni].some((each) => each !== undefined);
  return {
    username,
    password: password === "" ? undefined : password,
    ...(wantsTls ? { tls: { cacert, cert, key, sni, insecure } } : {}),
  };
}
