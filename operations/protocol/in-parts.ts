/** One custom resource that does several things, one after the other, such as all that comes before a roll-out. */
import { messageOf } from "../../lib/errors";
import { FailedButSeen, type ResourceHandler } from "./resource-handler";

type Parts<Inputs extends object, Outputs> = {
  readonly [Name in keyof Outputs]: ResourceHandler<Inputs, Outputs[Name] & object>;
};

type AnyPart = ResourceHandler<object, object>;

/**
 * Each part gets all inputs, and beside them its own former outputs. The resource has the outputs of each part under the
 * part's name. If a part fails, the state keeps what the parts before it returned, and the next update runs all parts
 * again: each must do nothing where nothing has changed.
 * @param parts in the order in which they run; they are deleted in reverse order
 */
export function inParts<Inputs extends object, Outputs extends object>(
  parts: Parts<Inputs, Outputs>,
): ResourceHandler<Inputs, Outputs> {
  const all = Object.entries(parts) as [string, AnyPart][];
  const stateOf = (state: object, name: string): object => ({ ...state, ...(state as Record<string, object>)[name] });

  async function inOrder(run: (part: AnyPart, name: string) => Promise<object>): Promise<Outputs> {
    const outputs: Record<string, object> = {};
    for (const [name, part] of all) {
      try {
        outputs[name] = await run(part, name);
      } catch (error) {
        throw new FailedButSeen(messageOf(error), outputs, { cause: error });
      }
    }
    return outputs as Outputs;
  }

  return {
    recordsAttempts: all.some(([, { recordsAttempts }]) => recordsAttempts === true),
    create: async (inputs, context) => {
      let id = "";
      const outputs = await inOrder(async (part) => {
        const created = await part.create(inputs, context);
        ({ id } = created);
        return created.outputs;
      });
      return { id, outputs };
    },
    update: (id, olds, news, context, attempts) =>
      inOrder(async (part, name) =>
        part.update === undefined
          ? (await part.create(news, context)).outputs
          : part.update(id, stateOf(olds, name), news, context, attempts),
      ),
    read: (id, state, context) =>
      inOrder(async (part, name) => {
        const known = (state as Record<string, object>)[name] ?? {};
        return (await part.read?.(id, stateOf(state, name), context)) ?? known;
      }),
    delete: async (id, olds, context) => {
      for (const [name, part] of all.toReversed()) await part.delete?.(id, stateOf(olds, name), context);
    },
    drifted: (state) => all.some(([name, part]) => part.drifted?.(stateOf(state, name)) ?? false),
    describeChange: (olds, news) =>
      all.flatMap(([name, part]) => part.describeChange?.(stateOf(olds, name), news) ?? []),
    ...(all.some(([, part]) => part.check) && {
      check: async (olds, news, context) =>
        (await Promise.all(all.map(async ([, part]) => (await part.check?.(olds, news, context)) ?? []))).flat(),
    }),
  };
}
