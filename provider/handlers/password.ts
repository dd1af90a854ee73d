import { randomBytes } from "node:crypto";
import type { ResourceHandler } from "../dynamic-resource";

const handler: ResourceHandler<object, { password: string }> = {
  create: () =>
    Promise.resolve({ id: randomBytes(8).toString("hex"), outputs: { password: randomBytes(24).toString("hex") } }),
  update: (_id, olds) => Promise.resolve({ password: olds.password }),
};
export default handler;
