/** The program of the controller's pod. A pod keeps its text in memory. */
import { describe, expect, it } from "vitest";
import { CONTROLLER_BUNDLE } from "../../../operations/controller/bundle";

describe("the controller's program", () => {
  it("has no parts of libraries that it does not use", async () => {
    const text = await CONTROLLER_BUNDLE.text();
    expect(text).toContain("/api/v1/namespaces/{namespace}/pods");
    // APIs of Kubernetes that the controller does not call, zod's messages in Czech, and tables of Unicode.
    expect(text).not.toContain("flowcontrol.apiserver.k8s.io");
    expect(text).not.toContain("Neplatn");
    expect(text).not.toContain("disallowed_STD3_mapped");
    expect(text.length).toBeLessThan(2_500_000);
    // The pod reads the text as Latin-1.
    expect(Buffer.byteLength(text)).toBe(text.length);
  });
});
