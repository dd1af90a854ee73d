import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";
import { type KeyNames, FUNCTIONS } from "../workloads/key-slices";
import { LIBRARY } from "../workloads/prefill";

export interface UncleanedNode {
  readonly node: DeploymentNode;
  readonly why: string;
  readonly hasUser: boolean;
  readonly hasKeys: boolean;
}

interface Remainder {
  readonly user: string;
  readonly keys: readonly KeyNames[];
  readonly mark: string;
  readonly uncleaned: readonly UncleanedNode[];
}

/** They contain no secret. */
export function removalCommands(
  { name, mode, access }: Pick<Deployment, "name" | "mode" | "access">,
  { user, keys, mark, uncleaned }: Remainder,
): string[] {
  const cli = ({ endpoint: { host, port } }: DeploymentNode): string =>
    ["valkey-cli -h", quoted(host), "-p", port, ...accessOptions(access)].join(" ");
  const isCluster = mode === "cluster";
  const redirected = isCluster ? " -c" : "";
  const lines = uncleaned.flatMap(({ node, why, hasUser, hasKeys }) => [
    `# ${node.name}${why === "" ? "" : `: ${why.replaceAll("\n", " ")}`}`,
    ...(hasUser ? [`${cli(node)} ACL DELUSER ${user}`] : []),
    ...(hasKeys ? keys.map((names) => removal(names, isCluster, cli(node), redirected)) : []),
  ]);
  const marked = uncleaned.find(({ hasKeys }) => hasKeys);
  return [
    `# ${name}: a measurement left ${contents(uncleaned)}. To remove them when the nodes reply, type:`,
    ...(access.password === undefined
      ? []
      : [`export VALKEYCLI_AUTH=…   # the password of the user ${access.username ?? "default"}`]),
    ...lines,
    ...(marked === undefined ? [] : [`${cli(marked.node)}${redirected} UNLINK ${mark}`]),
  ];
}

function contents(uncleaned: readonly UncleanedNode[]): string {
  const hasUser = uncleaned.some((each) => each.hasUser);
  const hasKeys = uncleaned.some((each) => each.hasKeys);
  return hasUser && hasKeys ? "its user and keys" : hasUser ? "its user" : "keys";
}

/** A command that removes exactly the keys with these names from a node, and no keys of other numbers. */
function removal({ family, count, isUntagged }: KeyNames, isCluster: boolean, cli: string, redirected: string): string {
  if (family === FUNCTIONS) return `${cli} FUNCTION DELETE ${LIBRARY}`;
  if (count === null && !isCluster) return `${cli} UNLINK ${family}`;
  const tag = isCluster && !isUntagged ? ":[{][0-9A-Za-z]+[}]+" : "";
  const number = count === null ? "" : isUntagged ? "[0-9]+" : ":[0-9]+";
  const bound = count === null ? "" : ` && $NF ${isUntagged ? "<=" : "<"} ${count}`;
  const separator = isUntagged ? "-" : ":";
  const filter = `awk -F${separator} '/^${family}${tag}${number}$/${bound} {print "UNLINK " $0}'`;
  return `${cli} --scan --pattern '${family}*' | ${filter} | ${cli}${redirected} | sort | uniq -c`;
}

function accessOptions({ username, tls }: Deployment["access"]): string[] {
  const options = username === undefined ? [] : ["--user", quoted(username)];
  if (tls === undefined) return options;
  const { cacert, ca, cert, key, sni, insecure } = tls;
  const files = { cacert: cacert ?? (ca === undefined ? undefined : "CA.pem"), cert, key, sni };
  return [
    ...options,
    "--tls",
    ...Object.entries(files).flatMap(([option, value]) => (value === undefined ? [] : [`--${option}`, quoted(value)])),
    ...(insecure ? ["--insecure"] : []),
  ];
}

function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
