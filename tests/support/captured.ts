/**
 * Runs commands in the process of the test, which saves a second each. For commands that end by themselves, one at a
 * time.
 */
export interface Ended {
  /** Exit status, or 128 and the signal's number as shells have it. */
  readonly status: number;
  readonly output: string;
}

export async function captured(
  environment: NodeJS.ProcessEnv,
  command: () => Promise<number> | number,
): Promise<Ended> {
  const { env } = process;
  const writes = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write.bind(stream) }));
  let output = "";
  process.env = { ...env, ...environment };
  for (const { stream } of writes) {
    stream.write = (chunk: string | Uint8Array): boolean => {
      output += chunk.toString();
      return true;
    };
  }
  try {
    return { status: await command(), output };
  } finally {
    for (const { stream, write } of writes) stream.write = write;
    process.env = env;
  }
}
