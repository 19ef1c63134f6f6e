/**
 * `npm run heavy -- demo:tenants`: a gateway with fourteen days of a hundred tenants, for trying
 * the dashboard and the command line. It stays until Ctrl-C.
 */
import { demoKey, startDemo } from "./start-demo.js";

const ends: (() => unknown)[] = [];
try {
  const url = await startDemo({ teardown: (end: () => unknown) => void ends.push(end) });
  process.stdout.write(`A hundred tenants, with the simulator as provider.
  ${url}/dashboard/
  master key ${demoKey}
Try it by hand:
  SLUICE_MASTER_KEY=${demoKey} node dist/programs/sluice.js tenants --url ${url}
Ctrl-C ends it.
`);
  await new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
} finally {
  for (const end of ends.reverse()) await end();
}
