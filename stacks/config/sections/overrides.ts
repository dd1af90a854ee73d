/** Overrides of values in a stack file by `--set`, such as `deployments.billion.primaries=300`. */
import { type Problem, BadInput, messageOf, problem } from "../../../lib/errors";
import { parse } from "yaml";
import { CONFIG_NAMESPACE } from "./stack-file";

type Values = Readonly<Record<string, unknown>>;

/**
 * @param raw sections by name, from `readStackFile`; they are not changed
 * @param assignments `PATH=VALUE`: a section and names or positions, separated by dots, and YAML; an empty value
 * removes the option
 * @throws BadInput with every assignment that has a problem
 */
export function applyOverrides(raw: Values, assignments: readonly string[]): Values {
  const problems: Problem[] = [];
  const replaced = assignments.reduce<Values>((values, assignment) => {
    const [, path = "", text = ""] = /^([^=]*)=(.*)$/s.exec(assignment) ?? [];
    const keys = path.replace(new RegExp(`^${CONFIG_NAMESPACE}:`), "").split(".");
    if (keys.some((key) => key === "")) {
      problems.push(
        problem("not-an-assignment", `--set ${assignment}`, "expected PATH=VALUE, such as platform.region=eu-west-1"),
      );
      return values;
    }
    try {
      return put(values, keys, text === "" ? undefined : (parse(text) as unknown), []) as Values;
    } catch (error) {
      problems.push(
        ...(error instanceof BadInput
          ? error.problems
          : [
              problem(
                "not-yaml",
                `--set ${assignment}`,
                `the value is not YAML: ${messageOf(error).split("\n")[0] ?? ""}`,
              ),
            ]),
      );
      return values;
    }
  }, raw);
  if (problems.length > 0) throw new BadInput("the options", problems);
  return replaced;
}

/** Maps and lists are copied, because YAML aliases may use them in other places. */
function put(inside: unknown, [key, ...rest]: readonly string[], value: unknown, way: readonly string[]): unknown {
  if (key === undefined) return value;
  const here = way.length === 0 ? "" : `--set ${way.join(".")}`;
  const next = (old: unknown): unknown => put(old, rest, value, [...way, key]);
  if (Array.isArray(inside)) {
    const index = Number(key);
    if (!Number.isInteger(index) || index < 0 || index > inside.length)
      throw BadInput.of(
        "",
        "not-an-index",
        `${key} is not an index in a list of ${inside.length}; expected a number from 0`,
        here,
      );
    const list: unknown[] = [...(inside as unknown[])];
    list[index] = next(list[index]);
    return list.filter((each) => each !== undefined);
  }
  if (inside !== undefined && inside !== null && typeof inside !== "object")
    throw BadInput.of("", "not-a-map", ` is ${JSON.stringify(inside)}, which has no ${key}`, here);
  const { [key]: old, ...others } = (inside ?? {}) as Record<string, unknown>;
  const made = next(old);
  return made === undefined ? others : { ...(inside as object | undefined), [key]: made };
}
