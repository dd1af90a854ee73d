/** What Pulumi's engine starts: the provider `valkey` with its components. Prints the port that it listens at. */
import { main } from "@pulumi/pulumi/provider";
import { VERSION } from "../lib/system/package";
import { ComponentProvider } from "./component-provider";

void main(new ComponentProvider(VERSION), process.argv.slice(2));
