/** What Pulumi's engine starts: the provider `valkey`. Prints the port that it listens at. */
import { main } from "@pulumi/pulumi/provider";
import { ValkeyProvider } from "../provider/valkey-provider";
import { VERSION } from "../lib/system/package";

void main(new ValkeyProvider(VERSION), process.argv.slice(2));
