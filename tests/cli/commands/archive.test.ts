/** The deployment of a stack that `archive` follows. */
import { expect, it } from "vitest";
import { chooseTarget } from "../../../cli/commands/archive";
import type { DeployedTarget } from "../../../cli/targets/deployed-stack";

const target = (platform: string, name: string): DeployedTarget =>
  ({ target: { platform, name }, password: "" }) as unknown as DeployedTarget;

it("is the only one, or the one that --deployment names, on this machine", () => {
  const two = [target("endpoints", "shop"), target("endpoints", "cart")];
  expect(chooseTarget("dev", two.slice(0, 1), undefined).target.name).toBe("shop");
  expect(chooseTarget("dev", two, "cart").target.name).toBe("cart");
  expect(() => chooseTarget("dev", two, undefined)).toThrow(/stack dev has shop, cart; name one/);
  expect(() => chooseTarget("dev", two, "bar")).toThrow(/no deployment "bar"/);
  expect(() => chooseTarget("dev", [target("kubernetes", "shop")], undefined)).toThrow(
    /stack dev: shop runs on Kubernetes, which archive cannot follow yet/,
  );
});
