/** Process that Pulumi's engine starts: the provider `valkey` with its components. It prints the port that it listens at. */
import { main } from "@pulumi/pulumi/provider";
import { runtime } from "@pulumi/pulumi";
import { VERSION } from "../lib/system/package";
import { ComponentProvider } from "./component-provider";

// The SDK tells its logger where the engine is when it constructs a component, and not before. Without it, lines go to
// standard output, which the engine shows to nobody.
const engine = process.argv.slice(2).find((argument) => !argument.startsWith("-")) ?? "";
runtime.resetOptions("", "", -1, engine, "", false, "");

void main(new ComponentProvider(VERSION), process.argv.slice(2));
