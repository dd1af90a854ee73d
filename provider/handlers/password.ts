/** Generates a password. */
import { randomBytes } from "node:crypto";
import type { ResourceHandler } from "../resource-handler";

export const handler: ResourceHandler<object, { password: string }> = {
  secretOutputs: ["password"],
  create: () => {
    const id = randomBytes(8).toString("hex");
    return Promise.resolve({ id, outputs: { password: randomBytes(24).toString("hex") } });
  },
  update: (_id, { password }) => Promise.resolve({ password }),
};
