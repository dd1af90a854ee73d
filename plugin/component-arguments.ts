/** Arguments of a component as another language gives them, held against the schema. */
import * as pulumi from "@pulumi/pulumi";
import { didYouMean } from "../lib/did-you-mean";
import type { FormsSpec, PackageSchema, ResourceSpec, TypeSpec, ValueSpec } from "./package-schema";

export interface ArgumentProblem {
  /** `resources.requests.cpu`, `zones[0]` */
  readonly propertyPath: string;
  readonly reason: string;
}

export interface CheckedArguments {
  /** As the component's constructor takes them. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly problems: readonly ArgumentProblem[];
}

/** @param inputs as Pulumi gives them to `construct`: values, and outputs where a value is secret or not known yet */
export async function checkArguments(
  schema: PackageSchema,
  { inputProperties, requiredInputs }: ResourceSpec,
  inputs: pulumi.Inputs,
): Promise<CheckedArguments> {
  const check = new ArgumentCheck(schema);
  const args = await check.properties(
    { type: "object", properties: inputProperties, required: requiredInputs },
    inputs,
    "",
  );
  return { args, problems: check.problems };
}

class ArgumentCheck {
  readonly problems: ArgumentProblem[] = [];

  constructor(private readonly schema: PackageSchema) {}

  /** The object with the names that TypeScript has. */
  async properties(type: TypeSpec, object: object, path: string): Promise<Record<string, unknown>> {
    const { properties = {}, required = [], language } = type;
    const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
    const given = Object.entries(object).filter(([, value]) => value !== undefined && value !== null);
    const names = given.map(([name]) => name);
    for (const name of required) if (!names.includes(name)) this.#problem(at(name), "is missing");
    const { forms, names: ownNames = {} } = language?.valkey ?? {};
    if (forms !== undefined) this.#form(forms, object, names, at);
    const checked: [string, unknown][] = [];
    for (const [name, value] of given) {
      const spec = properties[name];
      if (spec === undefined)
        this.#problem(
          at(name),
          `is unknown;${didYouMean(name, Object.keys(properties)) || ` there are ${Object.keys(properties).join(", ")}`}`,
        );
      else checked.push([ownNames[name] ?? name, await this.#value(spec, value, at(name))]);
    }
    return Object.fromEntries(checked);
  }

  async #value(spec: ValueSpec, given: unknown, path: string): Promise<unknown> {
    let value = given;
    if (pulumi.Output.isInstance(given)) {
      if (spec.plain !== true) return given;
      if (await pulumi.isSecret(given)) return this.#problem(path, "cannot be a secret");
      const known = await knownValue(given);
      if (known === undefined)
        return this.#problem(path, "must be known while the program runs, and is an output that is not known yet");
      ({ value } = known);
    }
    if (spec.oneOf !== undefined) return this.#oneOf(spec.oneOf, value, path);
    if (spec.$ref === "pulumi.json#/Any") return value;
    const type = spec.$ref === undefined ? undefined : this.schema.types[spec.$ref.replace("#/types/", "")];
    if (type?.enum !== undefined)
      return this.#oneOfValues(
        type.enum.map((each) => each.value),
        value,
        path,
      );
    if (type !== undefined)
      return isObject(value) ? this.properties(type, value, path) : this.#mismatch("an object", value, path);
    const { items, additionalProperties } = spec;
    if (items !== undefined) {
      if (!Array.isArray(value)) return this.#mismatch("a list", value, path);
      return Promise.all(value.map((each, index) => this.#value(items, each, `${path}[${index}]`)));
    }
    if (additionalProperties !== undefined) {
      if (!isObject(value)) return this.#mismatch("an object", value, path);
      const entries = Object.entries(value).map(async ([name, each]): Promise<[string, unknown]> => [
        name,
        await this.#value(additionalProperties, each, `${path}.${name}`),
      ]);
      return Object.fromEntries(await Promise.all(entries));
    }
    return spec.type === typeof value ? value : this.#mismatch(`a ${spec.type ?? "value"}`, value, path);
  }

  #oneOf(types: readonly ValueSpec[], value: unknown, path: string): unknown {
    const names = types.flatMap(({ type }) => type ?? []);
    return names.some((each) => each === typeof value) ? value : this.#mismatch(`a ${names.join(" or ")}`, value, path);
  }

  #oneOfValues(allowed: readonly string[], value: unknown, path: string): unknown {
    if (typeof value === "string" && allowed.includes(value)) return value;
    return this.#problem(path, `is none of ${allowed.join(", ")}`);
  }

  #form({ by, of }: FormsSpec, object: object, names: readonly string[], at: (name: string) => string): void {
    const form = (object as Readonly<Record<string, unknown>>)[by];
    const wanted = typeof form === "string" ? of[form] : undefined;
    if (wanted === undefined) return;
    const which = `${by}: ${String(form)}`;
    for (const name of wanted.required) if (!names.includes(name)) this.#problem(at(name), `is missing with ${which}`);
    const own = [by, ...wanted.required, ...wanted.optional];
    const all = Object.values(of).flatMap(({ required, optional }) => [...required, ...optional]);
    for (const name of names) {
      if (all.includes(name) && !own.includes(name)) this.#problem(at(name), `is not allowed with ${which}`);
    }
  }

  #mismatch(wanted: string, value: unknown, path: string): unknown {
    return this.#problem(path, `is ${kindOf(value)}, not ${wanted}`);
  }

  /** Stands in for the value. */
  #problem(propertyPath: string, reason: string): unknown {
    this.problems.push({ propertyPath, reason });
    return undefined;
  }
}

/** @returns undefined for an output that is not known yet */
async function knownValue(output: pulumi.Output<unknown>): Promise<{ readonly value: unknown } | undefined> {
  const { isKnown, promise } = output as unknown as { isKnown: Promise<boolean>; promise: () => Promise<unknown> };
  return (await isKnown) ? { value: await promise.call(output) } : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
