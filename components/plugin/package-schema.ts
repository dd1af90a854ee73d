/** Types of the parts of Pulumi's package schema that `components/plugin/schema.json` uses. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../lib/system/package";

export interface ValueSpec {
  readonly type?: "string" | "number" | "boolean" | "array" | "object";
  /** Reference to a type: `#/types/TOKEN` or `pulumi.json#/Any`. */
  readonly $ref?: string;
  readonly items?: ValueSpec;
  readonly additionalProperties?: ValueSpec;
  readonly oneOf?: readonly ValueSpec[];
  /** Whether the value must be known while the program runs. @default false */
  readonly plain?: boolean;
}

export interface PropertySpec extends ValueSpec {
  readonly description: string;
  /** @default false */
  readonly secret?: boolean;
}

/** The value of one property names the form. The form decides which other properties an object has. */
export interface FormsSpec {
  readonly by: string;
  readonly of: Readonly<Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>>;
}

export interface TypeSpec {
  readonly type: "string" | "object";
  readonly enum?: readonly { readonly value: string }[];
  readonly properties?: Readonly<Record<string, PropertySpec>>;
  readonly required?: readonly string[];
  readonly language?: {
    readonly valkey?: {
      readonly forms?: FormsSpec;
      /** Names of properties in TypeScript, by their names in the schema. Only names that differ are listed. */
      readonly names?: Readonly<Record<string, string>>;
    };
  };
}

export interface ResourceSpec {
  readonly inputProperties: Readonly<Record<string, PropertySpec>>;
  readonly requiredInputs: readonly string[];
  readonly properties: Readonly<Record<string, PropertySpec>>;
}

export interface PackageSchema {
  readonly types: Readonly<Record<string, TypeSpec>>;
  readonly resources: Readonly<Record<string, ResourceSpec>>;
}

/** Reads the schema, which is in a checkout and in the installed package. */
export function readPackageSchema(): PackageSchema {
  return JSON.parse(readFileSync(join(ROOT, "components", "plugin", "schema.json"), "utf8")) as PackageSchema;
}
