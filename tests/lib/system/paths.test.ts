/** Where a checkout and an installed package keep what can be created again. */
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../../lib/system/package";
import { cacheDirectory } from "../../../lib/system/paths";

describe("cacheDirectory", () => {
  it.each([
    ["a checkout", {}, false, join(ROOT, ".cache")],
    ["a checkout, whatever the user's cache is", { XDG_CACHE_HOME: "/somewhere" }, false, join(ROOT, ".cache")],
    ["a package", {}, true, join(homedir(), ".cache", "valkey-measured")],
    ["a package, by the user's cache", { XDG_CACHE_HOME: "/somewhere" }, true, "/somewhere/valkey-measured"],
    [
      "a package, where that path is relative",
      { XDG_CACHE_HOME: "somewhere" },
      true,
      join(homedir(), ".cache", "valkey-measured"),
    ],
    ["a package, by its own variable", { VALKEY_MEASURED_CACHE: "/own", XDG_CACHE_HOME: "/x" }, true, "/own"],
  ])("of %s", (_what, environment, isPackage, directory) => {
    expect(cacheDirectory(environment, isPackage)).toBe(directory);
  });
});
