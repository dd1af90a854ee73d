/** The controller as a single file that needs only Node.js, for its pod. */
import { join } from "node:path";
import { programBundle } from "../../lib/bundle";

export const CONTROLLER_BUNDLE = programBundle(join(__dirname, "controller.cjs"), join(__dirname, "main.ts"));
