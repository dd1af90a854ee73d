import { join } from "node:path";
import { ROOT } from "../../../lib/system/package";

/** Directory of the stack files. */
export const STACKS_DIRECTORY = join(ROOT, "stacks");
