/**
 * `sluice up` with fake services: what `commands/up.ts` wires, around `fake-service.ts`. Arguments:
 * --verbose, and a deadline for each stop in ms.
 */
import { fileURLToPath } from "node:url";
import { drainOutput, processSession } from "../../../bin/session/terminal.js";
import { superviseServices } from "../../../bin/supervisor/supervise-services.js";

const script = fileURLToPath(new URL("./fake-service.js", import.meta.url));
const [verbose, stopDeadlineMs] = process.argv.slice(2);
const supervisor = superviseServices({
  limiterd: { name: "limiterd", script, args: ["limiterd", "--socket=/tmp/fake.sock"] },
  proxy: { name: "proxy", script, args: ["proxy", "--port=4242"] },
  terminal: processSession().terminal,
  verbose: verbose === "--verbose",
  stopDeadlineMs: Number(stopDeadlineMs ?? 10_000),
  readyText: ({ ready, open }) => `ready at ${ready}, ${open ? "open" : "closed"}`,
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => supervisor.stop(signal === "SIGINT" ? "SIGINT" : "SIGTERM"));
const exitCode = await supervisor.done;
await drainOutput();
process.exit(exitCode);
