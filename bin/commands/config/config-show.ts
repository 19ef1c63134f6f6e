/** `sluice config show`: each setting with its value and source, but no secrets. */
import type { Command } from "commander";
import type { EffectiveSetting } from "../../../shared/config/config.js";
import { type CommandFlags, jsonOption, tableView } from "../../session/command-flags.js";
import { configurationSource, requireConfiguration } from "../../session/configuration.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { remotePlace, withDaemon } from "../../session/with-daemon.js";
import { type Column, renderTable } from "../../text/table.js";

interface ShowFlags extends CommandFlags {
  readonly changed?: boolean;
}

const columns: readonly Column<EffectiveSetting>[] = [
  { title: "SETTING", align: "left", text: ({ path }) => path },
  {
    title: "VALUE",
    wraps: true,
    align: "left",
    text: ({ value, unit }) => (unit === null || value === "" ? value : `${value} ${unit}`),
  },
  {
    title: "FROM",
    align: "left",
    text: ({ source, name }) => (name === null ? source : `${source} ${name}`),
  },
];

/** Adds `show` to `sluice config`. */
export function addConfigShow(config: Command, session: Session): void {
  config
    .command("show")
    .description("show each setting with its value and source; secrets are redacted")
    .option("--changed", "only values other than the default")
    .addOption(jsonOption("print what GET /admin/config answers"))
    .action((_options, command: Command) =>
      showConfiguration(session, command.optsWithGlobals<ShowFlags>()),
    );
}

/** For this host, as a start would read it now; for a remote gateway, as in force. */
async function showConfiguration(session: Session, flags: ShowFlags): Promise<void> {
  const { file, settings } =
    remotePlace(session, flags) === null
      ? readHere(session, flags)
      : await withDaemon(
          session,
          flags,
          async ({ remote }) => bodyOrThrow(await remote!.get("/admin/config")) as ShownConfig,
        );
  const rows = settings.filter(({ source }) => flags.changed !== true || source !== "default");
  if (flags.json === true) return session.terminal.out(JSON.stringify({ file, settings: rows }));
  session.terminal.out(
    [
      `file: ${file ?? "none"}`,
      ...(rows.length === 0 ? [] : [renderTable(columns, rows, tableView(session, flags))]),
    ].join("\n"),
  );
}

interface ShownConfig {
  readonly file: string | null;
  readonly settings: readonly EffectiveSetting[];
}

function readHere(session: Session, flags: ShowFlags): ShownConfig {
  const config = requireConfiguration(session, flags, (warning) =>
    session.terminal.err(`warning: ${warning}`),
  );
  return {
    file: config.file === null ? null : configurationSource(config),
    settings: config.settings,
  };
}
