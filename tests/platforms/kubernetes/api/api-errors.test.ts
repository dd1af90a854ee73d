import { describe, expect, it } from "vitest";
import { expectReviewed } from "../../../support/reviewed";
import { explainApiError, parseStatus } from "../../../../platforms/kubernetes/api/api-errors";

const api = { context: "prod", server: "https://10.0.0.9:6443" };
const status = (message: string): string => JSON.stringify({ kind: "Status", status: "Failure", message });
const answered = (code: number, message: string): Error =>
  Object.assign(new Error("HTTP-Code: …"), { code, body: status(message) });

describe("an error of the API server", () => {
  it("names the permission to grant, and tells credentials from permissions, quotas and admission checks", async () => {
    const refused = (user: string, what: string): string => `is forbidden: User "${user}" cannot ${what}`;
    const quota = "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1";
    const messages: Readonly<Record<string, Error>> = {
      "no right in a namespace": answered(
        403,
        `pods "valkey-0" ${refused("system:serviceaccount:ci:bot", 'create resource "pods/portforward" in API group "" in the namespace "data"')}`,
      ),
      "no right in the cluster": answered(
        403,
        `nodes "node-0" ${refused("jane", 'get resource "nodes" in API group "" at the cluster scope')}`,
      ),
      "a quota": answered(403, `pods "x" is forbidden: ${quota}`),
      "wrong credentials": answered(401, "Unauthorized"),
    };
    const found = Object.entries(messages).map(
      ([what, error]) => [what, explainApiError(error, "asking", api)] as const,
    );
    await expectReviewed("platforms/api-errors", "Answers of an API server that refuses.", found);
  });

  it("accepts a response that is no Status", () => {
    expect(parseStatus(502, "<html>bad gateway</html>").message).toBe("<html>bad gateway</html>");
    expect(parseStatus(500, "").message).toBe("HTTP status 500");
  });
});

describe("an API server that does not answer", () => {
  it.each([
    [
      "ECONNREFUSED",
      "request to https://10.0.0.9:6443/version/ failed, reason: connect ECONNREFUSED 10.0.0.9:6443",
      /cannot be reached: connect ECONNREFUSED 10\.0\.0\.9:6443; check that the cluster runs/,
    ],
    ["ENOTFOUND", "getaddrinfo ENOTFOUND nowhere.example", /cannot be reached: getaddrinfo ENOTFOUND/],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", /cannot be reached: self-signed certificate/],
    ["ABORT_ERR", "The user aborted a request.", /does not answer/],
  ])("is named with its context: %s", (code, message, expected) => {
    const text = explainApiError(Object.assign(new Error(message), { code }), "asking for its version", api);
    expect(text).toMatch(expected);
    expect(text).toContain("context prod (https://10.0.0.9:6443)");
  });
});
