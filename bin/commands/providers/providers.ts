/** `sluice providers …`: lists the configured providers and checks whether they answer. */
import type { Command } from "commander";
import type { ProviderItem } from "../../../shared/api/provider-item.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { judgeProvider, type ProviderVerdict } from "../../checks/provider-check.js";
import { CommandFailure, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import { requireConfiguration } from "../../session/configuration.js";
import { answered } from "../../session/daemon-answer.js";
import { exitCodes } from "../../session/exit-code.js";
import type { Session } from "../../session/terminal.js";
import { remotePlace, withDaemon } from "../../session/with-daemon.js";
import { type Column, renderTable } from "../../text/table.js";

/** Adds `providers` to the program. */
export function addProviders(program: Command, session: Session): void {
  const providers = program
    .command("providers")
    .description("the providers that are configured, and whether they answer");
  providers
    .command("list")
    .description("list the configured providers; with --url, what that gateway knows of them")
    .addOption(jsonOption("print them as objects"))
    .action((_options, command: Command) =>
      listProviders(session, command.optsWithGlobals<CommandFlags>()),
    );
  providers
    .command("check")
    .description("ask each provider for its models with its key, which costs nothing")
    .argument("[name]", "this one alone")
    .addOption(jsonOption("print the findings as objects"))
    .action((name: string | undefined, _options, command: Command) =>
      checkProviders(session, name, command.optsWithGlobals<CommandFlags>()),
    );
}

interface Row {
  readonly name: string;
  readonly type: string;
  readonly host: string;
  readonly key: string;
  readonly models: string;
  readonly state: string;
}

const columns: readonly Column<Row>[] = [
  { title: "NAME", align: "left", text: ({ name }) => name },
  { title: "TYPE", align: "left", text: ({ type }) => type },
  { title: "HOST", align: "left", text: ({ host }) => host },
  { title: "KEY", align: "left", text: ({ key }) => key },
  { title: "MODELS", align: "left", text: ({ models }) => models },
  { title: "STATE", align: "left", text: ({ state }) => state },
];

async function listProviders(session: Session, flags: CommandFlags): Promise<void> {
  const rows =
    remotePlace(session, flags) === null
      ? requireConfiguration(session, flags, () => {}).providers.map(rowOfConfig)
      : await withDaemon(session, flags, async ({ remote }) => {
          const body = answered(await remote!.get("/admin/providers")) as {
            readonly providers: readonly ProviderItem[];
          };
          return body.providers.map(rowOfItem);
        });
  session.terminal.out(
    flags.json === true ? JSON.stringify({ providers: rows }) : renderTable(columns, rows),
  );
}

function rowOfConfig(provider: ProviderConfig): Row {
  const { name, type, baseUrl, models, apiKey, apiKeys, apiKeyFile, apiKeyCommand } = provider;
  const key =
    apiKeyCommand !== null
      ? "command"
      : apiKeyFile !== null
        ? "file"
        : apiKeys !== null
          ? `${apiKeys.length} keys`
          : apiKey === null
            ? "none"
            : "set";
  return {
    name,
    type,
    host: baseUrl === "" ? "-" : new URL(baseUrl).host,
    key,
    models: models === null ? "listed by it" : models.includes("*") ? "any" : String(models.length),
    state: "-",
  };
}

function rowOfItem(item: ProviderItem): Row {
  const { last_failure: failed, last_success_at: answeredAt } = item;
  const isWell = failed === null || (answeredAt !== null && answeredAt > failed.at);
  return {
    name: item.name,
    type: item.type,
    host: item.host ?? "-",
    key: item.key_source,
    models: String(item.models_total),
    state: isWell ? (answeredAt === null ? "-" : `answered ${answeredAt}`) : failed.reason,
  };
}

async function checkProviders(
  session: Session,
  name: string | undefined,
  flags: CommandFlags,
): Promise<void> {
  const { providers } = requireConfiguration(session, flags, () => {});
  const chosen = providers.filter((provider) => name === undefined || provider.name === name);
  if (chosen.length === 0) {
    const known = providers.map((provider) => provider.name).join(", ");
    const message = `no provider ${JSON.stringify(name)} is configured: expected ${known}`;
    throw usageFailure([{ message, param: "name" }]);
  }
  const { askProvider } = await import("../../checks/ask-provider.js");
  const verdicts = await Promise.all(
    chosen.map(async (provider) =>
      judgeProvider(provider, provider.type === "simulator" ? null : await askProvider(provider)),
    ),
  );
  session.terminal.out(
    flags.json === true
      ? JSON.stringify({ providers: verdicts })
      : renderTable(verdictColumns, verdicts),
  );
  if (verdicts.some(({ state }) => state === "failure"))
    throw new CommandFailure({ exitCode: exitCodes.failed, lines: [], error: {} });
}

const verdictColumns: readonly Column<ProviderVerdict>[] = [
  { title: "NAME", align: "left", text: ({ name }) => name },
  { title: "STATE", align: "left", text: ({ state }) => state },
  { title: "", align: "left", text: ({ text }) => text },
];
