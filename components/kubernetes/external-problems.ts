/** Checks of the settings for clients outside the Kubernetes cluster. Pure. */
import { isIP } from "node:net";
import { compact } from "../../lib/compact";
import type { ExternalReach } from "./arguments";

/** Problems with the settings for clients outside the Kubernetes cluster, each with the name of the setting. */
export function externalProblems({
  type,
  sourceRanges = [],
}: Pick<ExternalReach, "type" | "sourceRanges">): { readonly key: "sourceRanges"; readonly reason: string }[] {
  const refused = (reason: string): { key: "sourceRanges"; reason: string } => ({ key: "sourceRanges", reason });
  return compact([
    ...sourceRanges
      .filter((range) => !isBlock(range))
      .map((range) => refused(`"${range}" is not a block of addresses; expected one such as 203.0.113.0/24`)),
    // Machines forward connections between each other, so a server sees the address of a machine instead of the
    // client's.
    type === "NodePort" && sourceRanges.length > 0
      ? refused("only load balancers apply source ranges; for node ports set the firewall of the machines")
      : undefined,
  ]);
}

/** Whether a text is a CIDR block. This check uses no library, so that the import of a component stays light. */
function isBlock(text: string): boolean {
  const [, address = "", bits = ""] = /^(.+)\/(\d{1,3})$/.exec(text) ?? [];
  const most = { 4: 32, 6: 128 }[isIP(address)];
  return most !== undefined && Number(bits) <= most;
}
