/** Problems of the arguments of a backup. Pure. */
import type { Problem } from "../../../lib/errors";
import { problem } from "../../../lib/errors";
import { BASE_SECONDS, DRILL_INTERVALS, KEEP_SECONDS } from "../../../archiver/pod-settings";
import { compact } from "../../../lib/compact";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import type { BackupArgs } from "../backup-arguments";
import { bucketProblems, textProblem } from "./bucket-problems";

/** Smallest allowed disk space for data that the bucket has not taken yet (the spool), bytes. */
const SMALLEST_SPOOL = 256 * 1024 ** 2;
/** Smallest allowed memory of the server of a drill, bytes. */
const SMALLEST_MEMORY = 64 * 1024 ** 2;
const ENCRYPTION = /^(none|AES256|aws:kms(:.+)?)$/;

/**
 * Problems of a backup's arguments. Arguments that other resources compute are not known yet. The pod checks them when
 * it starts.
 */
export function backupProblems(args: BackupArgs): Problem[] {
  const { encryption, baseEverySeconds, keepSeconds } = args;
  return compact([
    ...bucketProblems(args),
    textProblem("encryption", encryption, ENCRYPTION, "none, AES256, aws:kms or aws:kms:KEY"),
    rangeProblem("baseEverySeconds", baseEverySeconds, BASE_SECONDS),
    rangeProblem("keepSeconds", keepSeconds, KEEP_SECONDS),
    orderProblem(args),
    spoolProblem(args),
    drillProblem(args),
    drillMemoryProblem(args),
  ]);
}

function rangeProblem(
  field: string,
  value: number | undefined,
  { min, max }: { readonly min: number; readonly max: number },
): Problem | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return undefined;
  return problem("out-of-range", field, `it is ${value}; expected a whole number from ${min} to ${max} seconds`);
}

/**
 * Problem if `keepSeconds` is shorter than `baseEverySeconds`. The archive deletes a base only together with the
 * commands that follow until the next base. So it would keep data for longer than `keepSeconds`.
 */
function orderProblem({ baseEverySeconds, keepSeconds }: BackupArgs): Problem | undefined {
  const base = baseEverySeconds ?? BASE_SECONDS.default;
  const keep = keepSeconds ?? KEEP_SECONDS.default;
  if (keep >= base) return undefined;
  const message = `it is ${keep}; expected at least baseEverySeconds, which is ${base}`;
  return problem("kept-too-short", "keepSeconds", message);
}

function spoolProblem({ spoolSize }: BackupArgs): Problem | undefined {
  if (spoolSize === undefined || parseQuantity(spoolSize) >= SMALLEST_SPOOL) return undefined;
  const message = `it is ${JSON.stringify(spoolSize)}; expected a quantity of at least 256Mi, such as 4Gi`;
  return problem("too-small", "spoolSize", message);
}

function drillProblem({ drill }: BackupArgs): Problem | undefined {
  if (drill === undefined || DRILL_INTERVALS.includes(drill)) return undefined;
  return problem("unknown-interval", "drill", `it is ${JSON.stringify(drill)}; expected daily, weekly or monthly`);
}

function drillMemoryProblem({ drill, drillMemory }: BackupArgs): Problem | undefined {
  if (drillMemory === undefined) return undefined;
  if (drill === undefined) return problem("needs-drill", "drillMemory", "needs drill, the interval of drills");
  if (parseQuantity(drillMemory) >= SMALLEST_MEMORY) return undefined;
  const message = `it is ${JSON.stringify(drillMemory)}; expected a quantity of at least 64Mi, such as 4Gi`;
  return problem("too-small", "drillMemory", message);
}
