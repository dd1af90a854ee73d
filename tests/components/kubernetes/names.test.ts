import { describe, expect, it } from "vitest";
import { parseImage } from "../../../components/kubernetes/pods/image";
import { objectNames } from "../../../components/kubernetes/names";

describe("names", () => {
  it("follow from the deployment's", () => {
    expect(Object.values(objectNames("shop"))).toEqual([
      "shop",
      "shop-headless",
      "shop",
      "shop-primary",
      "shop-read",
      "shop-external",
      "shop-read-external",
      "shop-announced",
      "shop-metrics",
      "shop-sentinel",
      "shop-write",
      "shop-config",
      "shop-live-config",
      "shop-scripts",
      "shop-password",
      "shop-password-overlap",
      "shop",
      "shop",
      "shop",
    ]);
  });

  it("are host names or refused", () => {
    for (const name of ["", "1", "Shop", "shop-", "a_b", "a".repeat(53)])
      expect(() => objectNames(name)).toThrow(`its name is "${name}"`);
  });
});

describe("an image's name", () => {
  it("has a registry if its first part looks like a host", () => {
    expect(parseImage("valkey:9.1.2")).toEqual({ registry: "docker.io", repository: "valkey", tag: "9.1.2" });
    expect(parseImage("valkey/valkey:9.1.2-alpine")).toEqual({
      registry: "docker.io",
      repository: "valkey/valkey",
      tag: "9.1.2-alpine",
    });
    expect(parseImage("localhost/valkey:1")).toEqual({ registry: "localhost", repository: "valkey", tag: "1" });
    expect(parseImage("1.dkr.ecr.us-west-2.amazonaws.com/a/b/valkey:1")).toEqual({
      registry: "1.dkr.ecr.us-west-2.amazonaws.com",
      repository: "a/b/valkey",
      tag: "1",
    });
  });

  it("is refused without a tag that stays", () => {
    for (const name of ["valkey", "valkey:latest", "valkey@sha256:0", "", "a b:1"])
      expect(() => parseImage(name)).toThrow("expected [REGISTRY/]REPOSITORY:TAG");
  });
});
