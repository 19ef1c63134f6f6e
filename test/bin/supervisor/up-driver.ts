/**
 * `sluice up` with fake parts: what `commands/up.ts` wires, around `fake-part.ts`. Arguments:
 * --verbose, and a deadline for each stop in ms.
 */
import { fileURLToPath } from "node:url";
import { drainOutput, processSession } from "../../../bin/session/terminal.js";
import { superviseParts } from "../../../bin/supervisor/supervise-services.js";

const script = fileURLToPath(new URL("./fake-part.js", import.meta.url));
const [verbose, stopDeadlineMs] = process.argv.slice(2);
const supervisor = superviseParts({
  limiterd: { name: "limiterd", script, args: ["limiterd", "--socket=/tmp/fake.sock"] },
  proxy: { name: "proxy", script, args: ["proxy", "--port=4242"] },
  terminal: processSession().terminal,
  verbose: verbose === "--verbose",
  stopDeadlineMs: Number(stopDeadlineMs ?? 10_000),
  readyText: ({ ready, open }) => `ready at ${ready}, ${open ? "open" : "closed"}`,
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => supervisor.stop());
const exitCode = await supervisor.done;
await drainOutput();
process.exit(exitCode);
