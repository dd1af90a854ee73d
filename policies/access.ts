/** The API server is not everyone's. */
import type { Rule } from "./rule";
import { propertyAt, hasInputs, listAt, textAt } from "./rule";

/** Of a cluster whose stack says twice that everyone may reach it. */
const SAID_TWICE = "valkey-measured/open-to-the-world";

export const noOpenEndpoint: Rule = {
  name: "no-open-api-endpoint",
  description: "The API server is reached from named blocks only; AWS's default is everyone.",
  check: (resource) => {
    const { type, props } = resource;
    if (type === "aws:eks/cluster:Cluster") return openings(propertyAt(props, "vpcConfig"), propertyAt(props, "tags"));
    return type === "eks:index:Cluster" && hasInputs(resource) ? openings(props, propertyAt(props, "clusterTags")) : [];
  },
};

function openings(access: unknown, tags: unknown): string[] {
  if (textAt(access, "endpointPublicAccess") === "false" || textAt(tags, SAID_TWICE) === "true") return [];
  const cidrs = listAt(access, "publicAccessCidrs").map(String);
  if (cidrs.length === 0)
    return [
      "publicAccessCidrs is missing, which lets everyone reach the API server; name blocks, or endpointPublicAccess: false",
    ];
  return cidrs.filter((cidr) => cidr.endsWith("/0")).map((cidr) => `${cidr} lets everyone reach the API server`);
}
