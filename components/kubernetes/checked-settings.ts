/** Settings of a component, held against the same schema and lists as those of a stack file. Pure. */
import { BadInput } from "../../lib/errors";
import { describeIssues } from "../../lib/schema/problems";
import { settingProblems } from "../../valkey/directives/settings-problems";
import { settingsSchema } from "../../valkey/directives/settings-schema";
import type { Engine } from "../../valkey/engines";
import type { ServerSettings } from "../../valkey/settings";
import { tagOf } from "../../valkey/version";

/** What decides which settings servers take. */
export interface CheckedSettingsArgs {
  readonly settings?: ServerSettings | undefined;
  readonly newerDirectives?: readonly string[] | undefined;
  readonly image: string;
}

/** @returns the settings, sizes in bytes @throws BadInput with every setting that is wrong */
export function checkedSettings(
  deployment: string,
  engine: Engine,
  { settings = {}, newerDirectives, image }: CheckedSettingsArgs,
): ServerSettings {
  const parsed = settingsSchema.safeParse(settings);
  const label = (path: readonly PropertyKey[]): string => ["settings", ...path.map(String)].join(".");
  const problems = [
    ...(parsed.success ? [] : describeIssues(settingsSchema, settings, parsed.error.issues, label)),
    ...settingProblems(settings, { engine, version: tagOf(image), newerDirectives }).map(
      ({ name, reason }) => `${label([name])}: ${reason}`,
    ),
  ];
  if (!parsed.success || problems.length > 0) throw new BadInput(deployment, problems);
  return parsed.data;
}
