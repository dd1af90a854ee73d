import { randomBytes } from "node:crypto";
import type { ResourceHandler } from "../protocol/resource-handler";

export interface PasswordInputs {
  /** Change this number to generate a new password. */
  readonly version: number;
}

export interface PasswordOutputs {
  readonly password: string;
}

const generate = (): PasswordOutputs => ({ password: randomBytes(24).toString("hex") });

export const handler: ResourceHandler<PasswordInputs, PasswordOutputs> = {
  secretOutputs: ["password"],
  create: () => Promise.resolve({ id: randomBytes(8).toString("hex"), outputs: generate() }),
  update: (_id, { password, version }, news) => Promise.resolve(news.version === version ? { password } : generate()),
};
