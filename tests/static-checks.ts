/** Types, lint, order of rooms and format: the programs of `npm run lint`, all at once, each with a result. */
import { exec } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Outcome, TestRecord } from "./runner/outcome";

/** Name under which results stand where test files have their path. */
export const STATIC_CHECKS = "static checks";
const ROOT = resolve(__dirname, "..");

/** @returns a passed or failed record of each program, and the time of all */
export async function checkStatically(): Promise<Outcome> {
  const began = Date.now();
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: { lint: string };
  };
  const records = await Promise.all(scripts.lint.split(" && ").map(check));
  return { records, times: [{ file: STATIC_CHECKS, seconds: (Date.now() - began) / 1000 }] };
}

function check(command: string): Promise<TestRecord> {
  const env = { ...process.env, PATH: `${join(ROOT, "node_modules", ".bin")}:${process.env["PATH"] ?? ""}` };
  return new Promise((done) => {
    exec(command, { cwd: ROOT, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const title = command.split(" ")[0] ?? command;
      const message = `${stdout}${stderr}`.trim();
      done({ file: STATIC_CHECKS, title, ...(error === null ? { state: "passed" } : { state: "failed", message }) });
    });
  });
}
