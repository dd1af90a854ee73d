/** What Pulumi's engine starts: the provider `valkey`. Prints the port that it listens at. */
import { main } from "@pulumi/pulumi/provider";
import { ValkeyProvider } from "../provider/valkey-provider";
import { version } from "../package.json";

void main(new ValkeyProvider(version), process.argv.slice(2));
