/**
 * Resizes the deployment that standard input describes, in a process that can be killed. Prints its progress in lines.
 */
import { text } from "node:stream/consumers";
import { connect } from "../../../valkey/connection";
import type { DeploymentNode } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import type { Shape } from "../../../valkey/topology/placement";

export interface ResizeOrder {
  readonly name: string;
  readonly nodes: readonly DeploymentNode[];
  readonly leaving: readonly DeploymentNode[];
  readonly password: string;
  readonly shape: Shape;
  readonly directives: Readonly<Record<string, string>>;
}

async function main(): Promise<void> {
  const { name, nodes, leaving, password, shape, directives } = JSON.parse(await text(process.stdin)) as ResizeOrder;
  const access = { password };
  const deployment: Deployment = {
    name,
    mode: "cluster",
    shape,
    nodes,
    directives: new Map(Object.entries(directives)),
    access,
    connect: (node) => connect(node.name, node.endpoint, access),
  };
  await form(deployment, shape, {
    leaving,
    report: (line) => {
      process.stdout.write(`${line}\n`);
    },
  });
  process.stdout.write("done\n");
}

void main();
