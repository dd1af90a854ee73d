/** Pulumi without an engine: every resource is recorded with its options, and types that nobody expects are refused. */
import * as pulumi from "@pulumi/pulumi";

export interface Recorded {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

/**
 * Puts mocks in place of the engine.
 * @param known answers by type: the outputs a resource of that type has
 * @returns what is recorded, as it comes
 */
export async function mockEngine(known: Readonly<Record<string, (inputs: Readonly<Record<string, unknown>>, name: string) => object>>, stack = "test"): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  await pulumi.runtime.setMocks(
    {
      newResource: ({ type, name, inputs }) => {
        const answer = known[type];
        if (answer === undefined) throw new Error(`a resource of type ${type} (${name}) is not expected`);
        const own = inputs as Record<string, unknown>;
        recorded.push({ type, name, inputs: own });
        return { id: `${name}-id`, state: { ...own, ...answer(own, name) } };
      },
      call: ({ token }) => {
        throw new Error(`a call of ${token} is not expected`);
      },
    },
    "valkey",
    stack,
    false,
  );
  return recorded;
}

export function valueOf<T>(output: pulumi.Output<T>): Promise<T> {
  return new Promise((resolve) => {
    output.apply((value) => {
      resolve(value);
      return value;
    });
  });
}
