import { describe, expect, it } from "vitest";
import { proxyFiles } from "../../../../components/kubernetes/replication/proxies";

const hosts = (count: number, service: string): string[] =>
  Array.from({ length: count }, (_, index) => `shop-${index}.${service}.x.svc.cluster.local`);

function config(downAfterMs: number, tls: boolean): string {
  const plan = { deployment: "shop", servers: hosts(2, "shop-headless"), sentinels: hosts(3, "shop-sentinel") };
  return proxyFiles({ ...plan, downAfterMs, tls })["haproxy.cfg"] ?? "";
}

describe("the proxies' configuration", () => {
  it("asks every node whether it is the primary, and drops who is connected to one that is no more", () => {
    const text = config(5000, false);
    expect(text).toMatch(/^ {2}server (shop-1\.shop-headless\.x\.svc\.cluster\.local) \1:6379 check$/m);
    expect(text).toContain("tcp-check expect min-recv 64 string role:master");
    expect(text).toContain("on-marked-down shutdown-sessions");
    expect(text).not.toMatch(/^\s*#|undefined|ssl|@[A-Z]/m);
  });

  it.each([
    [500, 4],
    [2000, 5],
    [5000, 13],
    [60_000, 16],
  ])("keeps the clients of a primary without an answer while Sentinels wait %d ms", (downAfterMs, fall) => {
    expect(config(downAfterMs, false)).toContain(` inter 400ms fastinter 10ms downinter 100ms fall ${fall} `);
  });

  it("differs with TLS in the connections of the proxy only: the connections of clients are passed through", () => {
    const [without, secure] = [false, true].map((tls) => config(5000, tls).split("\n"));
    const changed = secure?.filter((line, index) => line !== without?.[index]) ?? [];
    expect(secure).toHaveLength(without?.length ?? 0);
    expect(changed.map((line) => line.split(/ (?:check-)?ssl /)[0]?.trim())).toEqual([
      ...hosts(2, "shop-headless").map((host) => `server ${host} ${host}:6379 check`),
      ...hosts(3, "shop-sentinel").map((host) => `server sentinel ${host}:26379`),
    ]);
    for (const line of changed)
      expect(line).toMatch(/ssl .*sni \S*shop-\d\..* verify required .* verifyhost shop-\d\./);
  });
});
