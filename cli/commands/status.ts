import { type Problem, BadInput, problem } from "../../lib/errors";
import { compact } from "../../lib/compact";
import { topologyOf } from "../../valkey/verification/topology-record";
import { type Inspection, inspectDeployment } from "../../operations/inspection/drift";
import { formatStatus, formatVerification } from "../../valkey/verification/format";
import { type DeployedTarget, deployedTargets } from "../targets/deployed-stack";
import { print } from "../terminal/terminal";
import type { OptionValues } from "../running/options";

export type Detail = "nodes" | "verdict" | "json";

export async function printStatus(stack: string, detail: Detail, signal: AbortSignal): Promise<number> {
  const targets = await deployedTargets(stack, process.cwd());
  const inspected = await Promise.all(
    targets.map(async (each) => ({
      ...each,
      inspection: await inspectDeployment(each.target, each.password, { signal }),
    })),
  );
  signal.throwIfAborted();
  if (detail === "json") print(JSON.stringify(inspected.map(recordOf), null, 1));
  else print(...inspected.flatMap((each, index) => compact([index > 0 ? "" : undefined, ...linesOf(each, detail)])));
  return inspected.every(({ inspection }) => isPassed(inspection)) ? 0 : 1;
}

/** Options that name servers cannot be combined with a stack. @param others problems of the command's other options */
export function refuseServerOptions(command: string, values: OptionValues, others: readonly Problem[] = []): void {
  const refused = Object.keys(values).map((name) =>
    problem("not-with-stack", `--${name}`, " applies to servers without a stack, not to a stack"),
  );
  const problems = [...others, ...refused];
  if (problems.length > 0) throw new BadInput(command, problems);
}

type Inspected = DeployedTarget & { readonly inspection: Inspection };

const isPassed = ({ verification }: Inspection): boolean => verification?.verdict.pass === true;

function linesOf({ target, inspection: { verification, drift } }: Inspected, detail: Detail): string[] {
  if (verification === undefined) return [`VERIFY ${target.name}: FAIL — ${drift.join("; ")}`];
  return detail === "verdict" ? formatVerification(verification) : formatStatus(verification);
}

function recordOf({ target, inspection }: Inspected): object {
  const { verification, drift } = inspection;
  const topology = verification === undefined ? null : topologyOf(verification, null);
  return { deployment: target.name, pass: isPassed(inspection), problems: drift, topology };
}
