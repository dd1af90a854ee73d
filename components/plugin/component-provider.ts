import type * as pulumi from "@pulumi/pulumi";
import type * as provider from "@pulumi/pulumi/provider";
import { ValkeyProvider } from "../../operations/provider/valkey-provider";
import { checkedArguments } from "./component-arguments";
import { loadComponent } from "./components";
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
      throw new Error(`there is no component ${type}; components: ${Object.keys(schema.resources).join(", ")}`);
    // The check throws BadInput and not InputPropertiesError, because Pulumi prints the values of the properties that
    // an InputPropertiesError names, even secrets.
    const args = await checkedArguments(schema, spec, inputs);
    const component = new Component(name, args as never, options);
    const outputs = component as unknown as Readonly<Record<string, unknown>>;
    return {
      urn: component.urn,
      state: Object.fromEntries(Object.keys(spec.properties).map((each) => [each, outputs[each]])),
    };
  };
}
