import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const DIRECTORY = join(__dirname, "..", "fixtures");

export function fixture(name: string): string {
  return readFileSync(join(DIRECTORY, `${name}.txt`), "utf8");
}

export function fixtures(prefix: string): string[] {
  return readdirSync(DIRECTORY)
    .filter((file) => file.startsWith(prefix))
    .map((file) => file.replace(/\.txt$/, ""));
}
