/**
 * The open-loop generator as a single file that needs only Node.js. Both Jobs and processes on this machine run this
 * file.
 */
import { join } from "node:path";
import { programBundle } from "../../../lib/bundle";

export const GENERATOR_BUNDLE = programBundle(join(__dirname, "open-loop.cjs"), join(__dirname, "main.ts"));
