/**
 * `sluice up` with fake services: what `commands/up.ts` wires, around `fake-service.ts`. Arguments:
 * --verbose, and a deadline for each stop in ms.
 */
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { drainOutput, processSession } from "../../../bin/session/terminal.js";
import { forkDaemon, superviseServices } from "../../../bin/supervisor/supervise-services.js";

const script = fileURLToPath(new URL("./fake-service.js", import.meta.url));
const [verbose, stopDeadlineMs] = process.argv.slice(2);
const proxies = { script, args: ["proxy", "--port=4242"], sockets: [], count: 1 };
const { terminal } = processSession();
const limiterd = { name: "limiterd", script, args: ["limiterd", "--socket=/tmp/fake.sock"] };
const forked = forkDaemon(limiterd, verbose === "--verbose");
if (process.env["FAKE_FORKED"] === "killed") {
  forked.kill("SIGKILL");
  await once(forked, "exit");
}
const supervisor = superviseServices({
  limiterd: { ...limiterd, waitingProcess: forked },
  proxies,
  terminal,
  verbose: verbose === "--verbose",
  logsText: verbose !== "--verbose",
  stopDeadlineMs: Number(stopDeadlineMs ?? 10_000),
  onReady: ({ ready, open }) => terminal.out(`ready at ${ready}, ${open ? "open" : "closed"}`),
});
// Reloads with the scenario of another variable, and prints what became of it.
process.on("SIGHUP", () => {
  process.env["FAKE_PROXY"] = process.env["FAKE_PROXY_NEXT"];
  const count = Number(process.env["FAKE_COUNT_NEXT"] ?? 1);
  void supervisor
    .reload({ ...proxies, count }, { daemon: process.env["FAKE_DAEMON_NEXT"] !== undefined })
    .then((outcome) => terminal.out(`outcome ${JSON.stringify(outcome)}`));
});
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => supervisor.stop(signal === "SIGINT" ? "SIGINT" : "SIGTERM"));
const exitCode = await supervisor.done;
await drainOutput();
process.exit(exitCode);
