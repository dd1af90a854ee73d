/** The process that Pulumi starts for the provider `valkey`. It prints the port on which it listens. */
import { main } from "@pulumi/pulumi/provider";
import { runtime } from "@pulumi/pulumi";
import { VERSION } from "../../lib/system/package";
import { ComponentProvider } from "./component-provider";

// The SDK tells its logger the address of Pulumi's engine only when it constructs a component. Before that, messages
// would go to standard output, which Pulumi does not display. So the address is set here.
const engine = process.argv.slice(2).find((argument) => !argument.startsWith("-")) ?? "";
runtime.resetOptions("", "", -1, engine, "", false, "");

void main(new ComponentProvider(VERSION), process.argv.slice(2));
