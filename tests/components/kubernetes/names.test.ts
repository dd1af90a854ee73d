import { describe, expect, it } from "vitest";
import { requireTag } from "../../../components/kubernetes/pods/image";
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
      "shop-proxy",
      "shop-config",
      "shop-scripts",
      "shop-password",
      "shop-password-overlap",
      "shop",
      "shop",
      "shop-controller",
      "shop-archive",
      "shop-restore",
      "shop-drill",
      "shop",
    ]);
  });

  it("are host names or refused", () => {
    for (const name of ["", "1", "Shop", "shop-", "a_b", "a".repeat(53)])
      expect(() => objectNames(name)).toThrow(`its name is "${name}"`);
  });
});

describe("the name of an image", () => {
  it.each([
    "valkey:9.1.2",
    "valkey/valkey:9.1.2-alpine",
    "localhost/valkey:1",
    "registry.example:5000/team/valkey:1",
    `valkey:9.1.2@sha256:${"0".repeat(64)}`,
  ])("is taken with a tag: %s", (name) => {
    expect(() => {
      requireTag(name);
    }).not.toThrow();
  });

  it.each(["valkey", "valkey:latest", "valkey@sha256:0", "", "a b:1", "registry.example:5000/valkey"])(
    "is refused without a tag that stays: %j",
    (name) => {
      expect(() => {
        requireTag(name);
      }).toThrow("expected [REGISTRY/]REPOSITORY:TAG");
    },
  );
});
