/** Addresses that may reach the API server of an EKS cluster from outside its network. Pure. */
import { isOpenToTheWorld } from "../../lib/cidr";

/** How the API server is reached from outside the network. */
export interface PublicAccess {
  /** Blocks that may reach it; none closes the public endpoint. */
  readonly cidrs: readonly string[];
  /** Required where the blocks together let the world in. @default false */
  readonly openToTheWorld: boolean;
}

/** @returns why the blocks are refused; undefined where they are allowed */
export function publicAccessProblem({ cidrs, openToTheWorld }: PublicAccess): string | undefined {
  if (openToTheWorld || !isOpenToTheWorld(cidrs)) return undefined;
  const [only, ...others] = cidrs.filter((cidr) => isOpenToTheWorld([cidr]));
  const blocks =
    only !== undefined && others.length === 0 ? `${only} also needs` : `${cidrs.join(", ")} together also need`;
  return `${blocks} openToTheWorld: true; or name the blocks that need the API server`;
}
