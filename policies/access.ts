/** The API server is not everyone's. */
import type { Rule } from "./rule";
import { at, listAt, textAt } from "./rule";

/** Of a cluster whose stack says twice that everyone may reach it. */
const SAID_TWICE = "valkey-measured/open-to-the-world";

export const noOpenEndpoint: Rule = {
  name: "no-open-api-endpoint",
  description: "The API server is reached from named blocks only; AWS's default is everyone.",
  check: ({ type, props }) => {
    const where = type === "eks:index:Cluster" ? { open: props, tags: at(props, "clusterTags") } : type === "aws:eks/cluster:Cluster" ? { open: { ...(at(props, "vpcConfig") as object | undefined) }, tags: at(props, "tags") } : undefined;
    if (where === undefined || textAt(where.open, "endpointPublicAccess") === "false" || textAt(where.tags, SAID_TWICE) === "true") return [];
    const cidrs = listAt(where.open, "publicAccessCidrs").map(String);
    if (cidrs.length === 0) return ["publicAccessCidrs is missing, which lets everyone reach the API server; name blocks, or endpointPublicAccess: false"];
    return cidrs.filter((cidr) => cidr.endsWith("/0")).map((cidr) => `${cidr} lets everyone reach the API server`);
  },
};
