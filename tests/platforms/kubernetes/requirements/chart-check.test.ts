import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { chartProblems } from "../../../../platforms/kubernetes/requirements/chart-check";

describe("where the chart comes from", () => {
  let server: Server;
  let base: string;
  const directory = mkdtempSync(join(tmpdir(), "chart-"));
  beforeAll(async () => {
    for (const name of ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"])
      vi.stubEnv(name, "");
    server = createServer(({ url }, answer) => {
      if (url === "/good/index.yaml")
        answer.end("apiVersion: v1\nentries:\n  valkey:\n    - version: 0.11.0\n    - version: 0.10.2\n");
      else if (url === "/page/index.yaml") answer.end("<html>Sign in</html>");
      else if (url === "/other/index.yaml") answer.end("entries:\n  redis: []\n");
      else answer.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    vi.stubEnv("HTTPS_PROXY", "");
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    server.close();
    rmSync(directory, { recursive: true });
  });

  it("says nothing of one that is there", async () => {
    writeFileSync(join(directory, "Chart.yaml"), "name: valkey\n");
    expect(await chartProblems({ from: "repository", url: `${base}/good/`, version: "0.11.0" })).toEqual([]);
    expect(await chartProblems({ from: "path", path: directory })).toEqual([]);
  });

  it.each<[string, string, RegExp]>([
    ["a version that is none", "good", /^chart\.version: \S+ has no valkey 0\.9\.9; there are 0\.11\.0, 0\.10\.2$/],
    [
      "a repository of other charts",
      "other",
      /^chart\.url: \S+ has no chart valkey; name a source .* by chart: \{ from: path, path: … \}/,
    ],
    [
      "a page that is no index",
      "page",
      /^chart: \S+\/page\/index\.yaml is not the index of a chart repository; name a source/,
    ],
    ["a repository that is not there", "none", /^chart: \S+ cannot be fetched \(HTTP status 404\); name a source/],
  ])("says what to do about %s", async (_what, at, message) => {
    expect(await chartProblems({ from: "repository", url: `${base}/${at}`, version: "0.9.9" })).toEqual([
      expect.stringMatching(message),
    ]);
  });

  it("says what to do where nobody answers, unless there is a proxy, which Helm would go through", async () => {
    const nobody = { from: "repository", url: "http://nobody.invalid/", version: "0.11.0" } as const;
    expect(await chartProblems(nobody)).toEqual([
      expect.stringMatching(
        /^chart: http:\/\/nobody\.invalid\/index\.yaml cannot be fetched \(.*nobody\.invalid\); name a source/,
      ),
    ]);
    expect(await chartProblems({ ...nobody, from: "oci", url: "oci://registry.invalid/charts/valkey" })).toEqual([
      expect.stringMatching(
        /^chart: https:\/\/registry\.invalid\/v2\/ cannot be fetched \(.*registry\.invalid\); name/,
      ),
    ]);
    vi.stubEnv("HTTPS_PROXY", "http://proxy.invalid:3128");
    expect(await chartProblems(nobody)).toEqual([]);
  });

  it("says what is wrong with a copy", async () => {
    expect(await chartProblems({ from: "path", path: join(directory, "none") })).toEqual([
      expect.stringMatching(
        /^chart\.path: \S+\/none does not exist; make a copy by helm pull valkey --repo \S+ --untar$/,
      ),
    ]);
    expect(await chartProblems({ from: "path", path: tmpdir() })).toEqual([
      expect.stringMatching(/^chart\.path: \S+ is not a chart: Chart\.yaml is missing; make a copy/),
    ]);
  });
});
