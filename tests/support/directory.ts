/** Empty directories for tests, which remove them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, onTestFinished } from "vitest";

const make = (): string => mkdtempSync(join(tmpdir(), "valkey-measured-test-"));
const remove = (path: string): void => {
  rmSync(path, { recursive: true, force: true });
};

export function useDirectory(): { readonly path: string } {
  const directory = { path: "" };
  beforeEach(() => {
    directory.path = make();
  });
  afterEach(() => {
    remove(directory.path);
  });
  return directory;
}

export function temporaryDirectory(): string {
  const path = make();
  onTestFinished(() => {
    remove(path);
  });
  return path;
}
