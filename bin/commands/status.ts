/** `sluice status`: the state of the daemon, by its socket, and of the proxy, by HTTP. */
import type { Command } from "commander";
import { askHealth, type Health } from "../session/ask-health.js";
import { CommandFailure } from "../session/command-failure.js";
import { locateSockets, readConfiguration } from "../session/configuration.js";
import { answered } from "../session/daemon-answer.js";
import type { Session } from "../session/terminal.js";
import { withDaemon } from "../session/with-daemon.js";
import { localUrl } from "../text/http-url.js";
import { statusFields } from "../text/status-fields.js";
import { renderFields } from "../text/table.js";
import { type CommandFlags, jsonOption } from "./command-flags.js";

/** The proxy is on the same machine: if it takes longer, it is in trouble. */
const healthDeadlineMs = 1_000;

/** Adds `status` to the program. */
export function addStatus(program: Command, session: Session): void {
  program
    .command("status")
    .description("the state of the daemon and the proxy")
    .addOption(jsonOption("print both as JSON"))
    .action((_options, command: Command) =>
      showStatus(session, command.optsWithGlobals<CommandFlags>()),
    );
}

/** Prints the state of both, even if one is down. An unreachable daemon ends with exit code 69. */
async function showStatus(session: Session, flags: CommandFlags): Promise<void> {
  const { socketPath: socket } = locateSockets(session, flags);
  const [daemon, health] = await Promise.all([askDaemon(session, flags), askProxy(session, flags)]);
  const { terminal } = session;
  if (flags.json === true) {
    terminal.out(JSON.stringify({ daemon: daemon.body, proxy: health }));
  } else {
    terminal.out(
      daemon.failure === null
        ? `daemon  ${socket}\n${renderFields(statusFields(daemon.body))}`
        : `daemon  ${socket}  not reachable`,
    );
    terminal.out(renderHealth(health));
  }
  if (daemon.failure !== null) throw daemon.failure;
}

async function askDaemon(
  session: Session,
  flags: CommandFlags,
): Promise<{ readonly body: unknown; readonly failure: CommandFailure | null }> {
  try {
    return {
      body: await withDaemon(session, flags, async (client) =>
        answered(await client.call("status", null)),
      ),
      failure: null,
    };
  } catch (error) {
    if (error instanceof CommandFailure) return { body: null, failure: error };
    throw error;
  }
}

/** With `--socket` the configuration may be broken: then the proxy's address is unknown. */
async function askProxy(session: Session, flags: CommandFlags): Promise<Health> {
  const loaded = readConfiguration(session, flags);
  if (!loaded.ok)
    return {
      url: null,
      reachable: false,
      status: null,
      body: null,
      reason: "unknown: the configuration is wrong, see `sluice config check`",
    };
  const { host, port } = loaded.config.server;
  if (port === 0)
    return {
      url: null,
      reachable: false,
      status: null,
      body: null,
      reason: "unknown: its port is chosen when it starts",
    };
  return askHealth(localUrl(host, port), healthDeadlineMs);
}

function renderHealth(health: Health): string {
  const heading = `proxy   ${health.url ?? health.reason ?? ""}`;
  if (!health.reachable)
    return health.url === null
      ? heading
      : `${heading}  not reachable: ${health.reason ?? "no answer"}`;
  const fields = statusFields(health.body);
  const lines = [`${heading}  answers ${health.status}`];
  if (fields.length > 0) lines.push(renderFields(fields));
  // It shows names to the master key alone, which isn't sent to whoever has the port.
  if (fields.some(([name, value]) => name === "targets open" && value !== "0"))
    lines.push("GET /admin/status says which targets are left alone, why, and for how long");
  return lines.join("\n");
}
