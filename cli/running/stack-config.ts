import { totalmem } from "node:os";
import { BadInput } from "../../lib/errors";
import { availableCores } from "../../platforms/host/cpu";
import { parseConfig } from "../../stacks/config/parse";
import type { HostStackConfig, StackConfig } from "../../stacks/config/schema/stack";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { readStackFile } from "../../stacks/config/sections/stack-file";

type Sections = Readonly<Record<string, unknown>>;

export function readStack(
  stack: string,
  change: (sections: Sections) => Sections = (sections) => sections,
  overrides?: OptionOverrides,
): StackConfig {
  const machine = { cores: availableCores(), memoryBytes: totalmem() };
  return parseConfig(`stack ${stack}`, change(readStackFile(STACKS_DIRECTORY, stack)), machine, overrides);
}

export function requireHost(stack: string, config: StackConfig, advice: string): HostStackConfig {
  const { platform } = config;
  if (platform.type !== "host")
    throw BadInput.of(`stack ${stack}`, "other-platform", `its platform is ${platform.type}${advice}`);
  return { ...config, platform };
}
