/** The restorer as a single file that needs only Node.js, for the pods `NAME-restore` and `NAME-drill`. */
import { join } from "node:path";
import { programBundle } from "../lib/bundle";

export const RESTORER_BUNDLE = programBundle(join(__dirname, "restorer.cjs"), join(__dirname, "main.ts"));
