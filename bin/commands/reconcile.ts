/** `sluice reconcile`: compares the usage records with what the provider has billed. */
import { createReadStream, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import type { ProviderItem } from "../../shared/api/provider-item.js";
import type { Reconciliation as KeptReconciliation } from "../../shared/api/reconciliation-item.js";
import { parseJson } from "../../shared/checked.js";
import { plainFailure } from "../../shared/error-code.js";
import { isExportedRecord } from "../../shared/export/exported-record.js";
import { append } from "../../shared/long-lists.js";
import { systemReason } from "../../shared/text/system-reason.js";
import { dayMs, dayOf, daysBetween } from "../../shared/time.js";
import { type Bill, BillError } from "../reconcile/bill.js";
import { keptResult } from "../reconcile/kept-result.js";
import { UsageSums } from "../reconcile/our-usage.js";
import { priceLines } from "../reconcile/price-lines.js";
import { reconcile } from "../reconcile/reconcile.js";
import { gapText, isAbove, reportJson, reportText } from "../reconcile/report.js";
import { anthropicAnalyticsBill, anthropicBill } from "../reconcile/sources/anthropic-bill.js";
import { billFromFile } from "../reconcile/sources/bill-file.js";
import { type BillingApi, BillingApiError } from "../reconcile/sources/billing-api.js";
import { type BillQuery, openaiBill } from "../reconcile/sources/openai-bill.js";
import { openrouterBill } from "../reconcile/sources/openrouter-bill.js";
import { isInTheClear } from "../remote/remote-place.js";
import {
  type ArgumentProblem,
  CommandFailure,
  refusal,
  usageFailure,
} from "../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../session/command-flags.js";
import { requireConfiguration } from "../session/configuration.js";
import { bodyOrThrow } from "../session/daemon-answer.js";
import { exitCodes } from "../session/exit-code.js";
import type { Session } from "../session/terminal.js";
import { remotePlace, withDaemon } from "../session/with-daemon.js";
import { usagePages } from "../usage/usage-pages.js";
import { type ReportWindow, type WindowFlags, windowFromFlags } from "../usage/window-flags.js";

interface ReconcileFlags extends CommandFlags, Omit<WindowFlags, "month"> {
  readonly provider: string;
  readonly source?: string;
  readonly bill?: string;
  readonly records: readonly string[];
  readonly project: readonly string[];
  readonly providerKey: readonly string[];
  readonly billingKeyEnv?: string;
  readonly billingKeyFile?: string;
  readonly billingUrl?: string;
  readonly failAbove?: string;
  readonly all?: boolean;
  readonly keep?: boolean;
}

interface BillingSource {
  readonly url: string;
  /** The variable that the key is in, unless a flag names another place. */
  readonly variable: string;
  readonly neededKey: string;
  /** The prefixes of keys that can't read bills. */
  readonly otherKeys: readonly string[];
  headers(key: string): Readonly<Record<string, string>>;
  read(api: BillingApi, query: BillQuery): Promise<Bill>;
}

const sources = {
  openai: {
    url: "https://api.openai.com/v1",
    variable: "OPENAI_ADMIN_KEY",
    neededKey: "an admin key of the organization (sk-admin-…), not a project's key",
    otherKeys: ["sk-proj-", "sk-svcacct-"],
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    read: openaiBill,
  },
  anthropic: {
    url: "https://api.anthropic.com",
    variable: "ANTHROPIC_ADMIN_KEY",
    neededKey: "an admin key (sk-ant-admin…), not an API key",
    otherKeys: ["sk-ant-api"],
    headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
    read: anthropicBill,
  },
  "anthropic-analytics": {
    url: "https://api.anthropic.com",
    variable: "ANTHROPIC_ADMIN_KEY",
    neededKey: "an admin key (sk-ant-admin…), or an API key with the scope read:analytics",
    otherKeys: [],
    headers: (key) => ({
      "x-api-key": key,
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "analytics-usage-cost-2026-08-24",
    }),
    read: anthropicAnalyticsBill,
  },
  openrouter: {
    url: "https://openrouter.ai/api/v1",
    variable: "OPENROUTER_MANAGEMENT_KEY",
    neededKey: "a management key, not an API key",
    otherKeys: [],
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    read: openrouterBill,
  },
} as const satisfies Readonly<Record<string, BillingSource>>;
type SourceName = keyof typeof sources;
const sourceNames = Object.keys(sources) as readonly SourceName[];

const daysDefault = "7";
const columnsDefault = 80;

/** Adds `reconcile` to the program. */
export function addReconcile(program: Command, session: Session): void {
  const collect = (value: string, before: readonly string[]): readonly string[] => [
    ...before,
    value,
  ];
  program
    .command("reconcile")
    .description("compare the usage records with the provider's bill, and explain each difference")
    .requiredOption(
      "--provider <name>",
      "the configured provider; several of one account with commas",
    )
    .option("--days <n>", `the last n complete days, UTC (default: ${daysDefault})`)
    .option("--from <date>", "the first day, UTC, such as 2026-02-01")
    .option("--to <date>", "the last day, UTC (default: yesterday)")
    .option(
      "--source <api>",
      `the billing API: ${sourceNames.join(", ")} (default: the provider's)`,
    )
    .option("--bill <file>", "the bill: a BigQuery export, or a CSV; instead of a billing API")
    .option(
      "--records <file>",
      "exported records (NDJSON) instead of the daemon's; once for each host",
      collect,
      [],
    )
    .option(
      "--project <id>",
      "only this project or workspace of the bill, compared with <id>=<provider key>; may be repeated",
      collect,
      [],
    )
    .option(
      "--provider-key <name>",
      "only records of this key of the provider; may be repeated",
      collect,
      [],
    )
    .option("--billing-key-env <variable>", "the variable with the key for the billing API")
    .option("--billing-key-file <file>", "the file with the key for the billing API")
    .option("--billing-url <url>", "another address of the billing API")
    .option("--fail-above <percent>", "exit with 4 if the gap is above it, such as 1%")
    .option("--all", "show quantities that agree, too")
    .option("--keep", "hand the result to the gateway, whose dashboard shows it")
    .addOption(jsonOption("print the comparison by day, with exact amounts"))
    .action((_options, command: Command) =>
      reconcileCommand(session, command.optsWithGlobals<ReconcileFlags>()),
    );
}

interface ReconcileOptions {
  readonly providers: readonly string[];
  readonly window: ReportWindow;
  readonly notes: readonly string[];
  /** In hundredths of a percent; null without a limit. */
  readonly failAbove: number | null;
  /** The bill's projects that count; empty: all. */
  readonly projects: readonly string[];
  /** The provider keys that count, and the project that each is paired with; empty: all. */
  readonly keys: ReadonlyMap<string, string | null>;
  /** The provider keys of each project, if projects are paired. */
  readonly pairs: ReadonlyMap<string, readonly string[]>;
}

async function reconcileCommand(session: Session, flags: ReconcileFlags): Promise<void> {
  const checked = checkFlags(flags, session.nowMs());
  const { providers, window, notes, failAbove, projects, keys, pairs } = checked;
  const { terminal } = session;
  const query: BillQuery = { ...window, projects };
  const configured = flags.records.length > 0 ? null : await configuredProviders(session, flags);
  const { bill, source } = await readBill(session, flags, { query, configured, providers });
  const days = daysBetween(window.startDate, window.endDate);
  const sums = new UsageSums(providers, { days, keys });
  const isOfOneHost = await addRecords(session, flags, { window, sums });
  if (sums.records === 0) requireConfigured(providers, configured);
  const result = reconcile(sums.rows(), bill, { dividesByProject: pairs.size > 0 });
  const unseen = [...keys.keys()].filter((name) => !sums.seenKeys.has(name));
  const head = {
    provider: flags.provider,
    source,
    ...window,
    pairs,
    prices: priceLines(providers[0]!, result),
    notes: [
      ...notes,
      ...(unseen.length === 0
        ? []
        : [`there are no records of the provider key ${unseen.join(", ")} on these days`]),
      ...bill.notes,
      ...notesOn(bill, days),
      ...(isOfOneHost
        ? [
            "these are the records of this host alone: export those of each host, and give --records",
          ]
        : []),
    ],
  };
  if (flags.json === true) terminal.out(JSON.stringify(reportJson(head, result)));
  else {
    const columns = terminal.columns ?? columnsDefault;
    terminal.out(reportText(head, result, { columns, isAll: flags.all === true }));
    for (const note of head.notes) terminal.err(`note: ${note}`);
  }
  if (flags.keep === true) await keep(session, flags, keptResult(head, result));
  if (failAbove === null || !isAbove(result, failAbove)) return;
  const message = `the gap of ${gapText(result)} is above --fail-above ${flags.failAbove!}`;
  throw new CommandFailure({
    exitCode: exitCodes.different,
    lines: [message],
    error: { message },
  });
}

async function keep(
  session: Session,
  flags: ReconcileFlags,
  result: KeptReconciliation,
): Promise<void> {
  await withDaemon(session, flags, async (client) => {
    bodyOrThrow(await client.call("reconciliations.keep", result));
  });
}

function notesOn({ rows }: Bill, days: readonly string[]): readonly string[] {
  if (rows.length === 0)
    return ["the bill has nothing on these days: is it that of the right organization or project?"];
  const has = (day: string, field: "quantity" | "amount"): boolean =>
    rows.some((row) => row.day === day && row[field] !== null);
  const open = days.filter((day) => has(day, "quantity") && !has(day, "amount"));
  return open.length === 0
    ? []
    : [`the bill has usage but no cost yet on ${open.join(", ")}: try again later`];
}

interface ConfiguredProvider {
  readonly name: string;
  /** Null: a simulator. */
  readonly host: string | null;
}

/** Null if they aren't known. */
async function configuredProviders(
  session: Session,
  flags: ReconcileFlags,
): Promise<readonly ConfiguredProvider[] | null> {
  if (remotePlace(session, flags) !== null)
    return withDaemon(session, flags, async ({ remote }) => {
      const body = bodyOrThrow(await remote!.get("/admin/providers")) as {
        readonly providers: readonly ProviderItem[];
      };
      return body.providers.map(({ name, host }) => ({ name, host }));
    });
  if (flags.socket !== undefined) return null;
  return requireConfiguration(session, flags, () => {}).providers.map(({ name, baseUrl }) => ({
    name,
    host: URL.canParse(baseUrl) ? new URL(baseUrl).host : null,
  }));
}

function requireConfigured(
  providers: readonly string[],
  configured: readonly ConfiguredProvider[] | null,
): void {
  const unknown = providers.find(
    (name) => configured?.every((provider) => provider.name !== name) === true,
  );
  if (unknown === undefined || configured === null) return;
  const names = configured.map(({ name }) => name).join(", ");
  const message = `--provider: there are no records of ${unknown}, and it isn't configured; configured are ${names}`;
  throw usageFailure([{ message, param: "--provider" }]);
}

interface BillContext {
  readonly query: BillQuery;
  readonly configured: readonly ConfiguredProvider[] | null;
  readonly providers: readonly string[];
}

async function readBill(
  session: Session,
  flags: ReconcileFlags,
  context: BillContext,
): Promise<{ readonly bill: Bill; readonly source: string }> {
  try {
    if (flags.bill !== undefined)
      return {
        bill: billFromFile(readText(resolve(session.cwd, flags.bill), "--bill"), context.query),
        source: "exported",
      };
    const name = sourceOf(flags, context);
    const source: BillingSource = sources[name];
    const api: BillingApi = {
      url: billingUrl(flags.billingUrl ?? source.url),
      headers: source.headers(billingKey(session, flags, source)),
      neededKey: source.neededKey,
      pause: session.pause,
    };
    return { bill: await source.read(api, context.query), source: name };
  } catch (error) {
    if (error instanceof BillingApiError)
      throw refusal(plainFailure(502, "provider_error", error.message));
    if (error instanceof BillError)
      throw refusal(plainFailure(400, "invalid_request_error", error.message));
    throw error;
  }
}

/** The billing API of the provider, by its host or its name. */
function sourceOf({ source }: ReconcileFlags, { configured, providers }: BillContext): SourceName {
  const text = source?.trim().toLowerCase();
  const host = configured?.find(({ name }) => name === providers[0])?.host ?? null;
  const match = sourceNames.find((name) =>
    text === undefined
      ? name === providers[0] || new URL(sources[name].url).host === host
      : name === text,
  );
  if (match !== undefined) return match;
  const message =
    text === undefined
      ? `${providers[0]} has no billing API that Sluice knows: give --bill, or --source ${sourceNames.join(", ")}`
      : `--source must be one of ${sourceNames.join(", ")}, not ${JSON.stringify(source)}`;
  throw usageFailure([{ message, param: text === undefined ? "--bill" : "--source" }]);
}

function billingUrl(text: string): string {
  const url = text.replace(/\/+$/, "");
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (isHttp && !isInTheClear(url)) return url;
  const message = `--billing-url must be an https address, not ${JSON.stringify(text)}: a request has the key`;
  throw usageFailure([{ message, param: "--billing-url" }]);
}

function billingKey(
  session: Session,
  { billingKeyEnv, billingKeyFile }: ReconcileFlags,
  { variable, neededKey, otherKeys }: BillingSource,
): string {
  const name = billingKeyEnv ?? variable;
  const key =
    billingKeyFile === undefined
      ? (session.env[name]?.trim() ?? "")
      : readText(resolve(session.cwd, billingKeyFile), "--billing-key-file").trim();
  const place = billingKeyFile ?? name;
  const problem =
    key === ""
      ? `${place} has no key: the billing API takes ${neededKey}, in ${variable} or by --billing-key-file`
      : otherKeys.some((prefix) => key.startsWith(prefix))
        ? `the key in ${place} can't read bills: the billing API takes ${neededKey}`
        : /^[\x21-\x7e]+$/.test(key)
          ? null
          : `the key in ${place} has spaces or control characters`;
  if (problem === null) return key;
  const param = billingKeyFile === undefined ? "--billing-key-env" : "--billing-key-file";
  throw usageFailure([{ message: problem, param }]);
}

function readText(path: string, flag: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const message = `${flag} ${path} can't be read: ${systemReason(error)}`;
    throw usageFailure([{ message, param: flag }]);
  }
}

/** Whether the records are those of one host of several. */
async function addRecords(
  session: Session,
  flags: ReconcileFlags,
  { window, sums }: { readonly window: ReportWindow; readonly sums: UsageSums },
): Promise<boolean> {
  for (const file of flags.records) await addFile(resolve(session.cwd, file), sums);
  if (flags.records.length > 0) return false;
  let isOfOneHost = false;
  await withDaemon(session, flags, async (client) => {
    for await (const page of usagePages(client, { userPath: "/", ...window })) {
      for (const record of page.records) sums.add(record);
      isOfOneHost ||= page.isOfOneHost === true;
    }
  });
  return isOfOneHost;
}

async function addFile(path: string, sums: UsageSums): Promise<void> {
  const fail = (why: string): never => {
    throw usageFailure([
      { message: `--records ${path} can't be read: ${why}`, param: "--records" },
    ]);
  };
  let number = 0;
  try {
    const input = createReadStream(path, "utf8");
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      number++;
      if (line.trim() === "") continue;
      const record = parseJson(line);
      if (!isExportedRecord(record)) fail(`line ${number} isn't a record of sluice usage export`);
      else sums.add(record);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    fail(systemReason(error));
  }
}

/** Throws all problems together. */
function checkFlags(flags: ReconcileFlags, nowMs: number): ReconcileOptions {
  const today = dayOf(nowMs);
  const yesterday = dayOf(nowMs - dayMs);
  const { days, from, to } = flags;
  const problems: ArgumentProblem[] = [];
  const isDefault = days === undefined && from === undefined && to === undefined;
  const window = windowFromFlags(
    isDefault ? { days: daysDefault } : windowFlags(flags),
    nowMs - dayMs,
  );
  if (from !== undefined && from >= today)
    problems.push({
      message: `--from must be before today, ${today}: a day is billed when it is over`,
      param: "--from",
    });
  else if (!window.ok) append(problems, window.problems);
  const providers = flags.provider.split(",").map((name) => name.trim());
  if (providers.includes(""))
    problems.push({ message: "--provider must name a provider", param: "--provider" });
  const percent = /^(\d{1,3}(?:\.\d{1,2})?)\s*%?$/.exec(flags.failAbove?.trim() ?? "0");
  if (percent === null)
    problems.push({
      message: `--fail-above must be a percentage such as 1% or 0.5%, not ${JSON.stringify(flags.failAbove)}`,
      param: "--fail-above",
    });
  if (flags.bill !== undefined && flags.source !== undefined)
    problems.push({ message: "--source can't be combined with --bill", param: "--source" });
  const pairing = pairingOf(flags, problems);
  if (!window.ok || percent === null || problems.length > 0) throw usageFailure(problems);
  const { startDate, endDate } = window.value;
  const isPartial = endDate >= today;
  return {
    providers,
    window: { startDate, endDate: isPartial ? yesterday : endDate },
    notes: isPartial
      ? [`${today} isn't over, so no bill has all of it: the comparison ends with ${yesterday}`]
      : [],
    failAbove: flags.failAbove === undefined ? null : Math.round(Number(percent[1]) * 100),
    ...pairing,
  };
}

/**
 * The projects and provider keys that `--project` and `--provider-key` select, and their pairs.
 * Adds to `problems`.
 */
function pairingOf(
  { project, providerKey }: ReconcileFlags,
  problems: ArgumentProblem[],
): Pick<ReconcileOptions, "projects" | "keys" | "pairs"> {
  const pairs = new Map<string, string[]>();
  const keys = new Map<string, string | null>(providerKey.map((name) => [name, null]));
  const withId = project.filter((value) => value.includes("="));
  const fail = (message: string): void => void problems.push({ message, param: "--project" });
  if (withId.length > 0 && (withId.length < project.length || providerKey.length > 0))
    fail("--project: name a provider key for every project, and give no --provider-key");
  for (const value of withId) {
    const equalsSign = value.indexOf("=");
    const [id, name] = [value.slice(0, equalsSign).trim(), value.slice(equalsSign + 1).trim()];
    if (id === "" || name === "")
      fail(`--project must be <id> or <id>=<provider key>, not ${JSON.stringify(value)}`);
    const earlierProject = keys.get(name);
    if (typeof earlierProject === "string" && earlierProject !== id)
      fail(`--project: the provider key ${name} has two projects, ${earlierProject} and ${id}`);
    keys.set(name, id);
    pairs.set(id, [...(pairs.get(id) ?? []), name]);
  }
  return { projects: withId.length === 0 ? project : [...pairs.keys()], keys, pairs };
}

function windowFlags({ days, from, to }: ReconcileFlags): WindowFlags {
  return {
    ...(days === undefined ? {} : { days }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}
