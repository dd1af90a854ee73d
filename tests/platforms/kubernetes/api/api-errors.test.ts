import { describe, expect, it } from "vitest";
import { explainApiError, explainStatus, parseStatus } from "../../../../platforms/kubernetes/api/api-errors";

const api = { context: "prod", server: "https://10.0.0.9:6443" };
const status = (message: string): string => JSON.stringify({ kind: "Status", status: "Failure", message });
const answered = (code: number, message: string): Error =>
  Object.assign(new Error("HTTP-Code: …"), { code, body: status(message) });

describe("an error of the API server", () => {
  it("names the permission to grant", () => {
    const message =
      'pods "valkey-0" is forbidden: User "system:serviceaccount:ci:bot" cannot create resource "pods/portforward" in API group "" in the namespace "data"';
    expect(explainStatus(parseStatus(403, status(message)), "a port-forward to valkey-0", api)).toBe(
      'a port-forward to valkey-0: system:serviceaccount:ci:bot may not create pods/portforward in namespace data; grant this user a Role with apiGroups [""], resources ["pods/portforward"], verbs ["create", "get"]',
    );
  });

  it("asks for a ClusterRole where there is no namespace", () => {
    const message =
      'nodes "node-0" is forbidden: User "jane" cannot get resource "nodes" in API group "" at the cluster scope';
    expect(explainApiError(answered(403, message), "reading the zone of machine node-0", api)).toMatch(
      /jane may not get nodes; grant this user a ClusterRole with .*\["nodes"\].*\["get"\]$/,
    );
  });

  it("contains the message of a quota or an admission check", () => {
    const message = 'pods "x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1';
    expect(explainApiError(answered(403, message), "creating Job x", api)).toBe(`creating Job x: ${message}`);
  });

  it("tells credentials from permissions", () => {
    expect(explainApiError(answered(401, "Unauthorized"), "asking", api)).toBe(
      "asking: the API server does not accept the credentials of context prod; log in again, or name a different context",
    );
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
