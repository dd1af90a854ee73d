/** The provider `valkey` with its components, which the engine asks it to construct for programs in every language. */
import * as pulumi from "@pulumi/pulumi";
import type * as provider from "@pulumi/pulumi/provider";
import { ValkeyProvider } from "../provider/valkey-provider";
import type { ArgumentProblem } from "./component-arguments";
import { checkArguments } from "./component-arguments";
import { loadComponent } from "./components";
import type { ResourceSpec } from "./package-schema";
import { readPackageSchema } from "./package-schema";

export class ComponentProvider extends ValkeyProvider {
  readonly getSchema = (): Promise<string> =>
    Promise.resolve(JSON.stringify({ ...readPackageSchema(), version: this.version }));

  readonly construct = async (
    name: string,
    type: string,
    inputs: pulumi.Inputs,
    options: pulumi.ComponentResourceOptions,
  ): Promise<provider.ConstructResult> => {
    const schema = readPackageSchema();
    const spec = schema.resources[type];
    const Component = await loadComponent(type.split(":").at(-1) ?? "");
    if (spec === undefined || Component === undefined)
      throw new Error(`there is no component ${type}; there are ${Object.keys(schema.resources).join(", ")}`);
    const { args, problems } = await checkArguments(schema, spec, inputs);
    if (problems.length > 0) throw invalidArguments(spec, problems);
    const component = new Component(name, args as never, options);
    const outputs = component as unknown as Readonly<Record<string, unknown>>;
    return {
      urn: component.urn,
      state: Object.fromEntries(Object.keys(spec.properties).map((each) => [each, outputs[each]])),
    };
  };
}

/** Pulumi prints the value at each path, so problems of secrets are part of the message. */
function invalidArguments({ inputProperties }: ResourceSpec, problems: readonly ArgumentProblem[]): Error {
  const isSecret = ({ propertyPath }: ArgumentProblem): boolean => inputProperties[propertyPath]?.secret === true;
  const secrets = problems
    .filter(isSecret)
    .map(({ propertyPath, reason }) => `\n\t\t- property ${propertyPath} ${reason}`);
  return new pulumi.InputPropertiesError({
    message: `invalid arguments${secrets.join("")}`,
    errors: problems.filter((each) => !isSecret(each)).map((each) => ({ ...each })),
  });
}
