import { beforeAll, describe, expect, it } from "vitest";
import { tlsSecretProblems } from "../../../../platforms/kubernetes/access/tls-certificate-check";
import { type TlsFiles, issueCertificate, serverHosts } from "../../../support/kubernetes/certificates";

const HOSTS = ["orders.shop.svc.cluster.local", "orders-0.orders-headless.shop.svc.cluster.local"];
const DAY_MS = 86_400_000;

describe("a TLS Secret", () => {
  let good: TlsFiles;
  let other: TlsFiles;
  let now: Date;
  const later = (days: number): Date => new Date(now.getTime() + days * DAY_MS);

  beforeAll(() => {
    good = issueCertificate(serverHosts("shop", "orders"));
    other = issueCertificate(["other"]);
    // Certificates are valid from a whole second on.
    now = new Date(Date.now() + 1_000);
  });

  it("has no problem with a certificate of its authority for its hosts, also beside another authority", () => {
    expect(tlsSecretProblems(good, HOSTS, now)).toEqual([]);
    const bundle = Buffer.concat([other["ca.crt"], good["ca.crt"]].map((each) => Buffer.from(each, "base64")));
    expect(tlsSecretProblems({ ...good, "ca.crt": bundle.toString("base64") }, HOSTS, now)).toEqual([]);
  });

  it("tells every problem at once", () => {
    expect(tlsSecretProblems({ "tls.crt": "" }, HOSTS, now)).toEqual([
      "has no tls.crt, no tls.key, no ca.crt; expected tls.crt, tls.key, ca.crt",
    ]);
    expect(tlsSecretProblems({ ...good, "tls.key": other["tls.key"] }, HOSTS, now)).toEqual([
      "tls.key is not the key of tls.crt",
    ]);
    expect(tlsSecretProblems({ ...good, "ca.crt": other["ca.crt"] }, ["orders-0.elsewhere"], later(3))).toEqual([
      expect.stringMatching(/^tls\.crt has expired: it was valid until /),
      "no certificate of ca.crt has signed tls.crt",
      expect.stringMatching(/^tls\.crt does not name orders-0\.elsewhere; it names DNS:orders\.shop/),
    ]);
    expect(tlsSecretProblems(good, HOSTS, later(-1))).toEqual([
      expect.stringMatching(/^tls\.crt is not valid before /),
    ]);
    expect(tlsSecretProblems({ ...good, "tls.crt": "eA==", "tls.key": "eA==" }, HOSTS, now)).toEqual([
      "tls.crt cannot be read: it has no certificate in PEM",
      expect.stringMatching(/^tls\.key cannot be read: /),
    ]);
  });
});
