/** Checks of the settings for clients outside the Kubernetes cluster. */
import { type Problem, problem } from "../../lib/errors";
import { isIP } from "node:net";
import { compact } from "../../lib/compact";
import type { ExternalReach } from "../../model/deployment";

export function externalProblems({ type, sourceRanges = [] }: Pick<ExternalReach, "type" | "sourceRanges">): Problem[] {
  const refused = (code: string, message: string): Problem => problem(code, "sourceRanges", message);
  return compact([
    ...sourceRanges
      .filter((range) => !isBlock(range))
      .map((range) =>
        refused("not-a-block", `"${range}" is not a block of addresses; expected one such as 203.0.113.0/24`),
      ),
    // Machines forward connections between each other, so a server sees the address of a machine instead of the
    // client's.
    type === "NodePort" && sourceRanges.length > 0
      ? refused(
          "ranges-of-node-ports",
          "only load balancers apply source ranges; for node ports set the firewall of the machines",
        )
      : undefined,
  ]);
}

/** This check uses no library, so that the import of a component stays light. */
function isBlock(text: string): boolean {
  const [, address = "", bits = ""] = /^(.+)\/(\d{1,3})$/.exec(text) ?? [];
  const most = { 4: 32, 6: 128 }[isIP(address)];
  return most !== undefined && Number(bits) <= most;
}
