/** Where stack files are. */
import { join } from "node:path";
import { ROOT } from "../../lib/paths";

export const STACKS_DIRECTORY = join(ROOT, "stacks");
