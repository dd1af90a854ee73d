/** Commands that a user mistypes, and output that tools read. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ROOT, VERSION } from "../../../lib/system/package";
import { SHORT } from "../../support/command";
import { usePlace } from "../../support/valkey/hooks";
import { valkeyHome } from "../../support/valkey/real";
import { watchDeployments } from "../../../cli/commands/watch";
import { captured } from "../../support/captured";

const place = usePlace();
const execute = promisify(execFile);

async function outputs(
  program: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const env = {
    ...process.env,
    VALKEY_HOME: await valkeyHome(),
    VALKEY_MEASURED_CACHE: place.directory,
    ...environment,
  };
  return execute(program, args, { cwd: ROOT, env });
}

describe("the command", () => {
  it("prints its version", async () => {
    expect(await place.call(["--version"])).toEqual({ status: 0, output: `${VERSION}\n` });
  });

  it.each([
    [["verfy", "--mode", "cluster"], /no command or stack verfy; did you mean verify\? Commands: /],
    [["lokal"], /no command or stack lokal; did you mean local\? /],
    [["hepl"], /did you mean help\?/],
    [["nonsense", "--node", "127.0.0.1:1"], /no command or stack nonsense; Commands: .*verify.*\. Stacks: .*local/],
  ])("asks what %j means", async (args, message) => {
    const { status, output } = await place.call(args);
    expect([status, output]).toEqual([2, expect.stringMatching(message)]);
  });

  it.each([["local"], ["topologies"], []])("prints the plan of %s in 80 columns", async (...stack) => {
    const { output } = await place.call(["plan", ...stack]);
    expect(output.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("runs by the name of the package in a checkout, with JSON that npm adds nothing to", async () => {
    const { stdout } = await outputs("npx", ["--offline", "valkey-measured", "plan", "local", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ stack: "local" });
  }, 60_000);

  it("says with npm start how JSON is had without the lines of npm", async () => {
    const json = ["plan", "local", "--json"];
    const { stdout, stderr } = await outputs("npm", ["start", "--", ...json]);
    expect(() => JSON.parse(stdout) as unknown).toThrow();
    expect(stderr).toContain("npx valkey-measured prints only the JSON");
    const silent = await outputs("npm", ["start", "--silent", "--", ...json]);
    expect([JSON.parse(silent.stdout), silent.stderr]).toEqual([expect.objectContaining({ stack: "local" }), ""]);
  }, 60_000);
});

describe("the completion of a shell", () => {
  const offered = async (...words: string[]): Promise<string[]> => {
    const { output } = await place.call(["completion", "bash"]);
    const script = `${output}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _valkey_measured; echo "\${COMPREPLY[*]}"`;
    const { stdout } = await outputs("bash", ["-c", script, "bash", "valkey-measured", ...words]);
    return stdout.trim().split(" ");
  };

  it("offers commands, options and stacks, and leaves values to the shell", async () => {
    expect(await offered("re")).toEqual(["restore", "recommend"]);
    expect(await offered("verify", "--prim")).toEqual(["--primaries"]);
    expect(await offered("plan", "study-e")).toEqual(["study-engines"]);
    expect(await offered("compare", "--prim")).toEqual([""]);
    expect(await offered("archive", "--keep", "")).toEqual([""]);
    expect(await offered("run", "--keep", "kin")).toEqual(["kind"]);
    expect(await offered("study", "den")).toEqual(["density"]);
    expect(await offered("loc")).toEqual(["local"]);
  });

  it("is refused for shells that are not known", async () => {
    const { status, output } = await place.call(["completion", "tcsh"]);
    expect([status, output]).toEqual([2, "completion: tcsh is not one of bash, zsh, fish\n"]);
  });

  it("has every option in the script of fish, and the script of bash in that of zsh", async () => {
    const [bash, zsh, fish] = await Promise.all(
      ["bash", "zsh", "fish"].map(async (shell) => {
        const { stdout } = await outputs(process.execPath, [join("cli", "valkey-measured.cjs"), "completion", shell]);
        return stdout;
      }),
    );
    expect(zsh).toContain(bash);
    expect(fish).toContain("'__fish_seen_subcommand_from verify' -l primaries -r -d 'expected number of primaries");
  }, 60_000);
});

describe("a kept run", () => {
  const run = ["run", ...SHORT, "--keep"];

  it("has its results alone on stdout, and is verified, shown and watched by its ID", async () => {
    const { stdout, stderr } = await outputs(process.execPath, [
      "--import",
      "tsx",
      "cli/main.ts",
      ...run,
      "--output",
      place.output(),
    ]);
    expect(stdout).toMatch(/^\n=== Side by side ===/);
    expect(stderr).toMatch(/✔ Verified .*PASS[\s\S]*✔ Measured/);
    const id = /npm start -- verify (\S+)/.exec(stdout)?.[1] ?? "";
    expect(stdout).toContain(`npm start -- watch ${id}\n`);
    const verified = await place.call(["verify", id]);
    expect(verified.output).toMatch(/VERIFY replication: PASS[\s\S]*VERIFY cluster: PASS/);
    expect(verified.status).toBe(0);
    expect((await place.call(["status", id, "--json"])).output).not.toContain("password");
    expect((await place.call(["verify", id, "--tls"])).output).toContain("--tls applies to servers without a stack");
    const stop = new AbortController();
    const watched = await captured({ VALKEY_MEASURED_CACHE: place.directory }, () => {
      setTimeout(() => {
        stop.abort();
      }, 3000);
      return watchDeployments(id, { every: "1" }, stop.signal);
    });
    expect(watched.status).toBe(0);
    expect(watched.output.match(/ (replication|cluster): PASS/g)).toHaveLength(2);
    process.kill(place.living()[0] ?? 0, "SIGKILL");
    expect((await place.call(["verify", id])).status).toBe(1);
    expect((await place.call(["stop", id])).output).toContain("stopped 9 processes");
    const { status, output } = await place.call(["verify", id]);
    expect([status, output]).toEqual([2, expect.stringContaining("does not exist; npm start -- stop prints a list")]);
  }, 120_000);
});
