/** `sluice providers …`: lists the configured providers and checks whether they answer. */

import type { Command } from "commander";
import type { GatewayStatus } from "../../../shared/api/gateway-status.js";
import type { ProviderItem } from "../../../shared/api/provider-item.js";
import type {
  Percentiles,
  TargetTrafficItem,
  TrafficReport,
} from "../../../shared/api/request-item.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { formatPercent } from "../../../shared/text/percent.js";
import { judgeProvider, type ProviderVerdict } from "../../checks/provider-check.js";
import { CommandFailure, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption, tableView } from "../../session/command-flags.js";
import { requireConfiguration } from "../../session/configuration.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import { exitCodes } from "../../session/exit-code.js";
import {
  fromHelp,
  lastHelp,
  type RangeFlags,
  rangeFromFlags,
  rangeQuery,
  toHelp,
} from "../../session/range-flags.js";
import type { Session } from "../../session/terminal.js";
import { remotePlace, withDaemon } from "../../session/with-daemon.js";
import { formatCount } from "../../text/number-text.js";
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
    .command("traffic")
    .description("show each target's requests, failures, times, tokens a second and last error")
    .option("--from <time>", fromHelp)
    .option("--to <time>", toHelp)
    .option("--last <time>", `${lastHelp} (default: 1h)`)
    .addOption(jsonOption("print the response of GET /admin/traffic"))
    .action((_options, command: Command) =>
      showTraffic(session, command.optsWithGlobals<TrafficFlags>()),
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

type TrafficFlags = CommandFlags & RangeFlags;

async function showTraffic(session: Session, flags: TrafficFlags): Promise<void> {
  const range = rangeFromFlags(flags, { nowMs: session.nowMs(), seconds: 3600 });
  if (!range.ok) throw usageFailure(range.problems);
  const body = rangeQuery(range.value, ["start", "end"]);
  const { report, open } = await withDaemon(session, flags, async (client) => ({
    report: bodyOrThrow(await client.call("traffic.summary", body)) as TrafficReport,
    open: bodyOrThrow(await client.call("status", null)) as Pick<GatewayStatus, "open_targets">,
  }));
  const { terminal } = session;
  if (flags.json === true) return terminal.out(JSON.stringify(report));
  const circuits = open.open_targets ?? [];
  if (report.targets.length === 0) return terminal.out("no requests to providers");
  terminal.out(renderTable(trafficColumns(circuits), report.targets, tableView(session, flags)));
  const ownMs = report.own_ms ?? null;
  if (ownMs !== null)
    terminal.out(
      `Sluice itself: ${ownMs.p50} / ${ownMs.p95} ms (p50 / p95) before a request is sent`,
    );
}

/** `circuits`: a sentence for each target whose circuit is open. */
function trafficColumns(circuits: readonly string[]): readonly Column<TargetTrafficItem>[] {
  const times = (percentiles: Percentiles | null): string =>
    percentiles === null ? "-" : `${percentiles.p50} / ${percentiles.p95} ms`;
  return [
    { title: "TARGET", align: "left", text: ({ target }) => target },
    { title: "REQUESTS", align: "right", text: ({ attempts }) => formatCount(attempts) },
    {
      title: "ERRORS",
      align: "right",
      text: ({ error_rate: rate }) => (rate === null ? "-" : formatPercent(rate, 1)),
    },
    { title: "FAILING", align: "left", text: ({ failing = null }) => spanText(failing) },
    {
      title: "FIRST BYTE p50 / p95",
      detail: true,
      align: "right",
      text: (item) => times(item.first_byte_ms),
    },
    { title: "WHOLE p50 / p95", align: "right", text: (item) => times(item.duration_ms) },
    {
      title: "TOKENS/S",
      detail: true,
      align: "right",
      text: ({ tokens_per_second: rate }) => (rate === null ? "-" : String(rate)),
    },
    {
      title: "CIRCUIT",
      align: "left",
      text: ({ target }) =>
        circuits.some((text) => text.startsWith(`${target}: `)) ? "open" : "closed",
      tone: ({ target }) =>
        circuits.some((text) => text.startsWith(`${target}: `)) ? "bad" : null,
    },
    {
      title: "FAILURES",
      detail: true,
      align: "left",
      text: ({ failures }) => failuresText(failures),
    },
    {
      title: "LAST ERROR",
      wraps: true,
      align: "left",
      text: ({ last_error: last }) => (last === null ? "-" : `${last.at} ${last.message}`),
    },
  ];
}

/** To the minute, in UTC. */
function spanText(span: TargetTrafficItem["failing"]): string {
  if (span === null) return "-";
  const minute = (moment: string): string => moment.slice(0, 16).replace("T", " ");
  return span.until === null ? `since ${minute(span.from)}` : `until ${minute(span.until)}`;
}

function failuresText(failures: TargetTrafficItem["failures"]): string {
  const nonZero = Object.entries(failures).filter(([, count]) => count > 0);
  return nonZero.map(([kind, count]) => `${kind} ${formatCount(count)}`).join(", ") || "-";
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
  { title: "HOST", detail: true, align: "left", text: ({ host }) => host },
  { title: "KEY", align: "left", text: ({ key }) => key },
  { title: "MODELS", align: "left", text: ({ models }) => models },
  { title: "STATE", align: "left", text: ({ state }) => state },
];

async function listProviders(session: Session, flags: CommandFlags): Promise<void> {
  const rows =
    remotePlace(session, flags) === null
      ? requireConfiguration(session, flags, () => {}).providers.map(rowOfConfig)
      : await withDaemon(session, flags, async ({ remote }) => {
          const body = bodyOrThrow(await remote!.get("/admin/providers")) as {
            readonly providers: readonly ProviderItem[];
          };
          return body.providers.map(rowOfItem);
        });
  session.terminal.out(
    flags.json === true
      ? JSON.stringify({ providers: rows })
      : renderTable(columns, rows, tableView(session, flags)),
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
    const names = providers.map((provider) => provider.name).join(", ");
    const message = `no provider ${JSON.stringify(name)} is configured: expected ${names}`;
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
      : renderTable(verdictColumns, verdicts, tableView(session, flags)),
  );
  if (verdicts.some(({ state }) => state === "failure"))
    throw new CommandFailure({ exitCode: exitCodes.failed, lines: [], error: {} });
}

const verdictColumns: readonly Column<ProviderVerdict>[] = [
  { title: "NAME", align: "left", text: ({ name }) => name },
  {
    title: "STATE",
    align: "left",
    text: ({ state }) => state,
    tone: ({ state }) => (state === "ok" ? null : state === "warning" ? "warn" : "bad"),
  },
  { title: "", align: "left", text: ({ text }) => text, wraps: true },
];
