import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tlsSecretProblems } from "../../../platforms/kubernetes/tls-secret";

const HOSTS = ["orders.shop.svc.cluster.local", "orders-0.orders-headless.shop.svc.cluster.local"];
/** Clocks of openssl and Node differ by a second at most. */
const NOW = new Date(Date.now() + 3_600_000);
const DAY_MS = 86_400_000;

describe("a TLS Secret", () => {
  const directory = mkdtempSync(join(tmpdir(), "certificates-"));
  const openssl = (...args: readonly string[]): void => {
    execFileSync("openssl", args, { cwd: directory, stdio: "ignore" });
  };
  const authority = (name: string): void => {
    openssl(
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${name}`],
      ...["-keyout", `${name}.key`, "-out", `${name}.crt`],
    );
  };
  const file = (name: string): string => readFileSync(join(directory, name)).toString("base64");
  let good: Record<string, string>;

  beforeAll(() => {
    authority("ca");
    authority("other");
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=orders", "-keyout", "tls.key", "-out", "tls.csr");
    writeFileSync(
      join(directory, "names"),
      "subjectAltName=DNS:orders.shop.svc.cluster.local,DNS:*.orders-headless.shop.svc.cluster.local",
    );
    openssl(
      ...["x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1"],
      ...["-extfile", "names", "-out", "tls.crt"],
    );
    good = { "tls.crt": file("tls.crt"), "tls.key": file("tls.key"), "ca.crt": file("ca.crt") };
  });
  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  it("has no problem with a certificate of its authority for its hosts, also beside another authority", () => {
    expect(tlsSecretProblems(good, HOSTS, NOW)).toEqual([]);
    const bundle = Buffer.concat([Buffer.from(file("other.crt"), "base64"), Buffer.from(file("ca.crt"), "base64")]);
    expect(tlsSecretProblems({ ...good, "ca.crt": bundle.toString("base64") }, HOSTS, NOW)).toEqual([]);
  });

  it("tells every problem at once", () => {
    expect(tlsSecretProblems({ "tls.crt": "" }, HOSTS, NOW)).toEqual([
      "has no tls.crt, no tls.key, no ca.crt; expected tls.crt, tls.key, ca.crt",
    ]);
    expect(tlsSecretProblems({ ...good, "tls.key": file("other.key") }, HOSTS, NOW)).toEqual([
      "tls.key is not the key of tls.crt",
    ]);
    expect(
      tlsSecretProblems(
        { ...good, "ca.crt": file("other.crt") },
        ["orders-0.elsewhere"],
        new Date(NOW.getTime() + 3 * DAY_MS),
      ),
    ).toEqual([
      expect.stringMatching(/^tls\.crt has expired: it was valid until /),
      "no certificate of ca.crt has signed tls.crt",
      expect.stringMatching(/^tls\.crt is not for orders-0\.elsewhere; it is for DNS:orders\.shop/),
    ]);
    expect(tlsSecretProblems(good, HOSTS, new Date(NOW.getTime() - DAY_MS))).toEqual([
      expect.stringMatching(/^tls\.crt is valid from .* only$/),
    ]);
    expect(tlsSecretProblems({ ...good, "tls.crt": "eA==", "tls.key": "eA==" }, HOSTS, NOW)).toEqual([
      "tls.crt cannot be read: it has no certificate in PEM",
      expect.stringMatching(/^tls\.key cannot be read: /),
    ]);
  });
});
