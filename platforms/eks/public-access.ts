import { isOpenToTheWorld } from "../../lib/cidr";

/** Access to the API server from outside the network. */
export interface PublicAccess {
  /** CIDR blocks that may reach the API server. An empty list closes the public endpoint. */
  readonly cidrs: readonly string[];
  /**
   * Permission to open the API server to the world. Required if the blocks together cover at least half of the public
   * addresses of IPv4 or of IPv6.
   * @default false
   */
  readonly openToTheWorld: boolean;
}

/** @returns reason why the blocks are refused; undefined if they are allowed */
export function publicAccessProblem({ cidrs, openToTheWorld }: PublicAccess): string | undefined {
  if (openToTheWorld || !isOpenToTheWorld(cidrs)) return undefined;
  const [only, ...others] = cidrs.filter((cidr) => isOpenToTheWorld([cidr]));
  const blocks =
    only !== undefined && others.length === 0 ? `${only} also needs` : `${cidrs.join(", ")} together also need`;
  return `${blocks} openToTheWorld: true; or name only the blocks that need to reach the API server`;
}
