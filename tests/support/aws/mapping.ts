/** To which member of which of AWS' calls a provider gives an input. */

/** Target of an input. */
export type Rule =
  /** Given as it is, such as to `eks.CreateCluster.name`. `#` tells several requests of one call apart. */
  | string
  | {
      /** One or several members. Within `fields`: below the member that the outer rule names. */
      readonly to: string | readonly string[];
      /** Rules for the keys of an object, or of each object of a list. */
      readonly fields?: Inputs;
      /** Value that the provider makes of it. */
      readonly as?: (value: unknown) => unknown;
    }
  /** An object whose keys go to members of their own. */
  | { readonly inside: Inputs }
  /** All of these. */
  | { readonly all: readonly Rule[] }
  /** A record of objects, by name. */
  | { readonly each: (name: string) => Inputs }
  /** No call gets it, and why. */
  | { readonly provider: string };

export type Inputs = Readonly<Record<string, Rule>>;

export interface Mapping {
  readonly inputs: Inputs;
  /** Members that the provider adds by itself, in every request of their call. */
  readonly supplied?: Readonly<Record<string, unknown>>;
}

const entries = (value: unknown): [string, unknown][] => Object.entries(value as object);
export const pairs = (tags: unknown): object[] => entries(tags).map(([Key, Value]) => ({ Key, Value }));
export const ec2Tags = (call: string, type: string): Rule => ({
  to: `ec2.${call}.TagSpecifications`,
  as: (tags) => [{ ResourceType: type, Tags: pairs(tags) }],
});
export const kmsTags = (to: string): Rule => ({
  to,
  as: (tags) => entries(tags).map(([TagKey, TagValue]) => ({ TagKey, TagValue })),
});
export const yes = (value: unknown): unknown => (value === "true" ? true : value === "false" ? false : value);

export const COMPONENT: Rule = { provider: "a choice of the component's" };
