/** The readiness probe of a cluster's node, which asks its script again while the script says no. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { ROOT } from "../../../lib/system/package";

const directory = mkdtempSync(join(tmpdir(), "ready-"));
copyFileSync(join(ROOT, "components/kubernetes/scripts/ready.sh"), join(directory, "ready.sh"));
afterAll(() => {
  rmSync(directory, { recursive: true });
});

/** Runs the probe of a mode whose script is this text. @returns its exit status and its seconds */
async function probe(mode: string, script: string): Promise<{ status: number; seconds: number }> {
  writeFileSync(join(directory, `ready-${mode}.sh`), script);
  const began = performance.now();
  const status = await promisify(execFile)("sh", [join(directory, "ready.sh"), mode]).then(
    () => 0,
    (error: unknown) => (error as { code: number }).code,
  );
  return { status, seconds: (performance.now() - began) / 1000 };
}

describe.skipIf(process.platform !== "linux").concurrent("the readiness probe of a cluster's node", () => {
  it("passes as soon as the script says yes, also when it said no before", async () => {
    const third = `echo x >>"$0.asked"; [ "$(wc -l <"$0.asked")" -ge 3 ]`;
    expect((await probe("later", third)).status).toBe(0);
  });

  it("fails when the script has said no for eight seconds", async () => {
    const { status, seconds } = await probe("never", "exit 1");
    expect(status).toBe(1);
    expect(seconds).toBeGreaterThan(7);
  });
});
