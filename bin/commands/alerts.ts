/** `sluice alerts test`: sends a test to each destination of alerts (docs/alerts.md). */
import type { Command } from "commander";
import type { AlertTestResult, AlertTestResults } from "../../shared/api/alert-item.js";
import { CommandFailure, usageFailure } from "../session/command-failure.js";
import { type CommandFlags, jsonOption, tableView } from "../session/command-flags.js";
import { requireConfiguration } from "../session/configuration.js";
import { bodyOrThrow } from "../session/daemon-answer.js";
import { exitCodes } from "../session/exit-code.js";
import type { Session } from "../session/terminal.js";
import { remotePlace, withDaemon } from "../session/with-daemon.js";
import { type Column, renderTable } from "../text/table.js";

/** Adds `alerts` to the program. */
export function addAlerts(program: Command, session: Session): void {
  const alerts = program
    .command("alerts")
    .description("the webhooks to which Sluice posts before a limit ends");
  alerts
    .command("test")
    .description("send a test to each destination of alerts; with --url, from that gateway")
    .addOption(jsonOption("print the response of POST /admin/alerts/test"))
    .action((_options, command: Command) =>
      testAlerts(session, command.optsWithGlobals<CommandFlags>()),
    );
}

const columns: readonly Column<AlertTestResult>[] = [
  { title: "HOST", align: "left", text: ({ host }) => host },
  { title: "FORMAT", align: "left", text: ({ format }) => format },
  { title: "TEST", align: "left", text: ({ reason }) => reason ?? "delivered" },
];

async function testAlerts(session: Session, flags: CommandFlags): Promise<void> {
  const results =
    remotePlace(session, flags) === null
      ? await testHere(session, flags)
      : await withDaemon(session, flags, async ({ remote }) => {
          const body = bodyOrThrow(await remote!.post("/admin/alerts/test", null));
          return (body as AlertTestResults).results;
        });
  session.terminal.out(
    flags.json === true
      ? JSON.stringify({ results })
      : results.length === 0
        ? "no alerts are configured"
        : renderTable(columns, results, tableView(session, flags)),
  );
  if (results.some(({ delivered }) => !delivered))
    throw new CommandFailure({ exitCode: exitCodes.failed, lines: [], error: {} });
}

/** Sends the tests from this process, without a daemon or proxy. */
async function testHere(
  session: Session,
  flags: CommandFlags,
): Promise<readonly AlertTestResult[]> {
  const { alerts } = requireConfiguration(session, flags, () => {});
  const { sendTests } = await import("../checks/send-test-alerts.js");
  const outcome = await sendTests(alerts, session.nowMs);
  if (!outcome.ok) throw usageFailure([{ message: outcome.reason, param: "secret_file" }]);
  return outcome.results;
}
