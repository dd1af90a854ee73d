/** Stack files and the arguments of components use the same schema. */
import { z } from "zod";
import { DIRECTIVE_NAME, SETTINGS_FIELDS } from "../../model/settings";
import { oneLine } from "../../lib/schema/fields";

/**
 * Settings of a server. Directives that matter for topology, durability or speed have their own types. All other
 * directives are allowed as well.
 */
export const settingsSchema = z
  .object(SETTINGS_FIELDS)
  .catchall(
    z.union([oneLine, z.number(), z.boolean()]).optional().meta({
      description:
        "Any other directive of valkey.conf, with its name and value as in valkey.conf (for Dragonfly: a flag).",
      fallback: "the server's default",
    }),
  )
  .superRefine((settings, context) => {
    for (const name of Object.keys(settings)) {
      if (DIRECTIVE_NAME.test(name)) continue;
      context.addIssue({ code: "custom", path: [name], message: "expected the name of a directive" });
    }
  });
