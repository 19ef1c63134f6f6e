/** `sluice status`: the state of the daemon, by its socket, and of the proxy, by HTTP. */
import type { Command } from "commander";
import type { Health } from "../session/ask-health.js";
import { CommandFailure } from "../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../session/command-flags.js";
import {
  type LoadedConfiguration,
  locateSockets,
  readConfiguration,
  type Sockets,
} from "../session/configuration.js";
import { bodyOrThrow } from "../session/daemon-answer.js";
import { exitCodes } from "../session/exit-code.js";
import { operatorKey } from "../session/operator-key.js";
import type { Session } from "../session/terminal.js";
import { remotePlace, withDaemon } from "../session/with-daemon.js";
import { healthUrl } from "../text/http-url.js";
import { statusFields } from "../text/status-fields.js";
import { renderFields } from "../text/table.js";

/** The proxy is on the same machine: a longer delay means trouble. */
const healthDeadlineMs = 1_000;

/** Adds `status` to the program. */
export function addStatus(program: Command, session: Session): void {
  program
    .command("status")
    .description("show the state of the daemon and the proxy")
    .addOption(jsonOption("print both as JSON"))
    .action((_options, command: Command) =>
      showStatus(session, command.optsWithGlobals<CommandFlags>()),
    );
}

/** Prints the state of both, even if one is down. An unreachable daemon ends with exit code 69. */
async function showStatus(session: Session, flags: CommandFlags): Promise<void> {
  const place = remotePlace(session, flags);
  const { where, daemon, health } =
    place === null ? await askHere(session, flags) : await askElsewhere(session, flags, place.url);
  const { terminal } = session;
  if (flags.json === true) {
    terminal.out(JSON.stringify({ daemon: daemon.body, proxy: health }));
  } else {
    terminal.out(
      daemon.failure === null
        ? `${place === null ? "daemon " : "gateway"} ${where}\n${renderFields(statusFields(daemon.body))}`
        : `${place === null ? "daemon " : "gateway"} ${where}  ${noStatus(daemon.failure)}`,
    );
    terminal.out(renderHealth(health));
  }
  if (daemon.failure !== null) throw daemon.failure;
}

/** A remote gateway may be reachable but refuse the key. */
function noStatus({ exitCode }: CommandFailure): string {
  return exitCode === exitCodes.failed ? "gives no status" : "not reachable";
}

interface State {
  /** The daemon's socket, or the URL of the gateway elsewhere. */
  readonly where: string;
  readonly daemon: DaemonState;
  readonly health: Health;
}

interface DaemonState {
  readonly body: unknown;
  readonly failure: CommandFailure | null;
}

async function askHere(session: Session, flags: CommandFlags): Promise<State> {
  const loaded = readConfiguration(session, flags);
  const sockets = locateSockets(session, flags, loaded);
  const [daemon, health] = await Promise.all([
    askDaemon(session, flags, sockets),
    askProxy(loaded),
  ]);
  return { where: sockets.socketPath, daemon, health };
}

function askDaemon(session: Session, flags: CommandFlags, sockets: Sockets): Promise<DaemonState> {
  return failureAsValue(() =>
    withDaemon(
      session,
      flags,
      async (client) => bodyOrThrow(await client.call("status", null)),
      sockets,
    ),
  );
}

async function failureAsValue(ask: () => Promise<unknown>): Promise<DaemonState> {
  try {
    return { body: await ask(), failure: null };
  } catch (error) {
    if (error instanceof CommandFailure) return { body: null, failure: error };
    throw error;
  }
}

/** One connection after the other: if the first fails, the second would fail, too. */
async function askElsewhere(session: Session, flags: CommandFlags, url: string): Promise<State> {
  let health: Health = { url, reachable: false, status: null, body: null, reason: null };
  const daemon = await failureAsValue(() =>
    withDaemon(session, flags, async ({ call, remote }) => {
      const answer = await remote!.get("/health");
      health = answer.ok
        ? { ...health, reachable: true, status: 200, body: answer.body }
        : { ...health, reachable: true, status: answer.failure.status };
      return bodyOrThrow(await call("status", null));
    }),
  );
  return { where: url, daemon, health: { ...health, reason: daemon.failure?.message ?? null } };
}

/** `--socket` works with a broken configuration; the proxy's address is unknown then. */
async function askProxy(loaded: LoadedConfiguration): Promise<Health> {
  if (!loaded.ok)
    return {
      url: null,
      reachable: false,
      status: null,
      body: null,
      reason: "unknown: the configuration is wrong, see `sluice config check`",
    };
  const url = healthUrl(loaded.config);
  if (url === null)
    return {
      url: null,
      reachable: false,
      status: null,
      body: null,
      reason: "unknown: its port is chosen when it starts",
    };
  // The help of other commands doesn't load node:http.
  const { askHealth } = await import("../session/ask-health.js");
  return askHealth(url, healthDeadlineMs, operatorKey(loaded.config));
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
  return lines.join("\n");
}
