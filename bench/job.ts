/** Runs a load generator: reads its job as JSON from stdin, prints the result as JSON on stdout, and exits. */
export async function runJob<Job>(generate: (job: Job) => Promise<object>): Promise<void> {
  const job = (await Bun.stdin.json()) as Job;
  try {
    process.stdout.write(JSON.stringify(await generate(job)));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(1);
  }
}
