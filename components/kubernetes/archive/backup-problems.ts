/** Problems of the arguments of a backup. Pure. */
import { BASE_SECONDS, DRILL_INTERVALS, KEEP_SECONDS } from "../../../archiver/pod-settings";
import { compact } from "../../../lib/compact";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import type { BackupArgs } from "../backup-arguments";
import type { ArgumentProblem } from "./bucket-problems";
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
export function backupProblems(args: BackupArgs): ArgumentProblem[] {
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
): ArgumentProblem | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return undefined;
  return { field, reason: `it is ${value}; expected a whole number from ${min} to ${max} seconds` };
}

/**
 * Problem if `keepSeconds` is shorter than `baseEverySeconds`. The archive deletes a base only together with the
 * commands that follow until the next base. So it would keep data for longer than `keepSeconds`.
 */
function orderProblem({ baseEverySeconds, keepSeconds }: BackupArgs): ArgumentProblem | undefined {
  const base = baseEverySeconds ?? BASE_SECONDS.default;
  const keep = keepSeconds ?? KEEP_SECONDS.default;
  if (keep >= base) return undefined;
  return { field: "keepSeconds", reason: `it is ${keep}; expected at least baseEverySeconds, which is ${base}` };
}

function spoolProblem({ spoolSize }: BackupArgs): ArgumentProblem | undefined {
  if (spoolSize === undefined || parseQuantity(spoolSize) >= SMALLEST_SPOOL) return undefined;
  return {
    field: "spoolSize",
    reason: `it is ${JSON.stringify(spoolSize)}; expected a quantity of at least 256Mi, such as 4Gi`,
  };
}

function drillProblem({ drill }: BackupArgs): ArgumentProblem | undefined {
  if (drill === undefined || DRILL_INTERVALS.includes(drill)) return undefined;
  return { field: "drill", reason: `it is ${JSON.stringify(drill)}; expected daily, weekly or monthly` };
}

function drillMemoryProblem({ drill, drillMemory }: BackupArgs): ArgumentProblem | undefined {
  if (drillMemory === undefined) return undefined;
  const field = "drillMemory";
  if (drill === undefined) return { field, reason: "needs drill, the interval of drills" };
  if (parseQuantity(drillMemory) >= SMALLEST_MEMORY) return undefined;
  return { field, reason: `it is ${JSON.stringify(drillMemory)}; expected a quantity of at least 64Mi, such as 4Gi` };
}
