/** Where stack files are. */
import { join } from "node:path";
import { ROOT } from "../benchmarks/paths";

export const STACKS = join(ROOT, "stacks");
