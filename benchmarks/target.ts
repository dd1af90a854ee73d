/** A deployment as plain data: enough to reach it again, later and from another process. The password is kept apart. */
import { connect } from "./connection";
import type { Access, Deployment, DeploymentNode, Mode } from "./deployment";
import type { Shape } from "./topology/placement";

interface TargetBase {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly zones: readonly string[];
  /** Directive to the value it must have on every node. */
  readonly directives: Readonly<Record<string, string>>;
}

/** Servers at addresses that this machine reaches by itself. */
export interface EndpointTarget extends TargetBase {
  readonly platform: "endpoints";
  readonly nodes: readonly DeploymentNode[];
}

export type Target = EndpointTarget;

/** @param password undefined where the servers want none */
export function openTarget(target: Target, password: string | undefined): Promise<Deployment> {
  const { name, mode, shape, zones, directives, nodes } = target;
  const access: Access = { password };
  return Promise.resolve({ name, mode, shape, zones, directives: new Map(Object.entries(directives)), nodes, access, connect: (node) => connect(node.name, node.endpoint, access) });
}
