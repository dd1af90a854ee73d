/** The policy pack: `pulumi preview --policy-pack policies`. A violation stops the preview and the update. */
import { PolicyPack } from "@pulumi/policy";
import { RULES } from "./all-rules";

new PolicyPack("valkey-measured", {
  enforcementLevel: "mandatory",
  policies: RULES.map(({ name, description, check }) => ({
    name,
    description,
    validateResource: ({ type, name: resource, props }, reportViolation) => {
      for (const violation of check({ type, name: resource, props })) reportViolation(violation);
    },
  })),
});
