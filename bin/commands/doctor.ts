/** `sluice doctor`: finds problems before users notice them, and changes nothing. */
import type { Command } from "commander";
import { loadPriceList } from "../../proxy/prices/price-list.js";
import { futureProblem } from "../../proxy/prices/prices-json.js";
import {
  createTargetPrices,
  needsPriceList,
  type TargetPrices,
} from "../../proxy/prices/target-prices.js";
import { unpricedModels } from "../../proxy/prices/unpriced-models.js";
import { isObject } from "../../shared/checked.js";
import type { Config } from "../../shared/config/config.js";
import { problemLine } from "../../shared/config/problems.js";
import { append } from "../../shared/long-lists.js";
import { dayMs, dayOf } from "../../shared/time.js";
import { version } from "../../shared/version.js";
import {
  checkClock,
  checkConfiguredPrices,
  checkDaemon,
  checkNamedPrices,
  checkPrices,
  checkProxy,
} from "../checks/check-daemon.js";
import { checkHost } from "../checks/check-host.js";
import { checkCluster, checkHostClock, checkStore } from "../checks/check-store.js";
import { type Finding, failedFinding, ok, renderFindings, warning } from "../checks/finding.js";
import { readDaemonAgeSeconds } from "../checks/host-clock.js";
import { type HostFacts, readHostFacts } from "../checks/host-facts.js";
import { likelyMistakes } from "../checks/likely-mistakes.js";
import { judgeProvider } from "../checks/provider-check.js";
import { secretFilesOf } from "../checks/secret-files-of.js";
import { listKeys } from "../keys/list-keys.js";
import { type ListedLimit, type ListOf, listLimits } from "../limits/list-limits.js";
import { CommandFailure } from "../session/command-failure.js";
import { type CommandFlags, jsonOption, tableView } from "../session/command-flags.js";
import { readConfiguration } from "../session/configuration.js";
import { bodyOrThrow } from "../session/daemon-answer.js";
import { exitCodes } from "../session/exit-code.js";
import { operatorKey } from "../session/operator-key.js";
import type { Session } from "../session/terminal.js";
import { unreadableFiles } from "../session/unreadable-files.js";
import { type AdminClient, withDaemon } from "../session/with-daemon.js";
import { writeNewFile } from "../session/write-new-file.js";
import { healthUrl } from "../text/http-url.js";

interface DoctorFlags extends CommandFlags {
  readonly offline?: boolean;
  readonly strict?: boolean;
  readonly bundle?: string;
}

const healthDeadlineMs = 1_000;

/** Adds `doctor` to the program. */
export function addDoctor(program: Command, session: Session): void {
  program
    .command("doctor")
    .description("look for problems on this host and say what to do; change nothing")
    .option("--offline", "don't ask the providers")
    .option("--strict", "exit with 1 for warnings")
    .option("--bundle <file>", "write the findings to a file for a bug report, without secrets")
    .addOption(jsonOption("print the findings as objects"))
    .action((_options, command: Command) =>
      runDoctor(session, command.optsWithGlobals<DoctorFlags>()),
    );
}

async function runDoctor(session: Session, flags: DoctorFlags): Promise<void> {
  const loaded = readConfiguration(session, flags);
  const config = loaded.ok ? loaded.config : null;
  const host = readHostFacts({
    configFile: config?.file ?? null,
    dataDir: config?.limiter.dataDir ?? null,
    programs: session.programs,
    secretFiles: config === null ? [] : secretFilesOf(config),
  });
  const results = await Promise.all([
    loaded.ok
      ? checkConfiguration(loaded.config, [...loaded.warnings, ...loaded.unset])
      : loaded.problems.map((problem) => failedFinding("configuration", problemLine(problem))),
    config === null ? [] : checkHost(config, host),
    config === null ? [] : checkListedPrices(config, session.nowMs),
    checkServices(session, flags, { config, host }),
    config === null || flags.offline === true ? [] : checkProviders(session, config),
  ]);
  const findings = results.flat();
  const { terminal } = session;
  if (flags.bundle !== undefined) bundle(flags.bundle, { session, config, host, findings });
  terminal.out(
    flags.json === true
      ? JSON.stringify({ findings })
      : renderFindings(findings, tableView(session, flags)),
  );
  const states = new Set(findings.map(({ state }) => state));
  // 2 for failures, as for other doctors; 1 for warnings, if they count.
  const exitCode = states.has("failure") ? exitCodes.usage : exitCodes.failed;
  if (states.has("failure") || (flags.strict === true && states.has("warning")))
    throw new CommandFailure({ exitCode, lines: [], error: {} });
}

function checkConfiguration(config: Config, warnings: readonly string[]): readonly Finding[] {
  const warned = [...warnings, ...likelyMistakes(config, warnings), ...unreadableFiles(config)];
  const file = config.file ?? "built-in default: no file was found";
  return [ok("configuration", file), ...warned.map((text) => warning("configuration", text))];
}

async function loadPrices(config: Config, nowMs: () => number): Promise<TargetPrices> {
  const list = needsPriceList(config) ? await loadPriceList(config.priceListFile) : null;
  return createTargetPrices(config, { list, nowMs });
}

async function checkListedPrices(config: Config, nowMs: () => number): Promise<readonly Finding[]> {
  try {
    const prices = await loadPrices(config, nowMs);
    const { file, from = "" } = prices.listed ?? {};
    const problem = file === undefined ? null : futureProblem(file.date, nowMs());
    const unpriced = unpricedModels(config, prices);
    return [
      ...(problem === null ? [] : [warning("prices", `${from} ${problem}`)]),
      ...checkConfiguredPrices(unpriced, config.budgets.budgets.length > 0),
    ];
  } catch (error) {
    return [failedFinding("prices", (error as Error).message)];
  }
}

/** The models that managed keys, rules and budgets name and the configuration's routes don't. */
async function checkPricesOfNames(
  config: Config,
  client: AdminClient,
  nowMs: () => number,
): Promise<readonly Finding[]> {
  const itemsIn = async (list: ListOf): Promise<readonly ListedLimit[]> =>
    // Limits may be switched off.
    (await listLimits(client, list).catch(() => null))?.items ?? [];
  const rules = await itemsIn({ list: "rate-limits.list", items: "rate_limits" });
  const budgets = await itemsIn({ list: "budgets.list", items: "budgets" });
  const names = [...(await listKeys(client)), ...rules, ...budgets]
    .flatMap(({ models, scope, subject }) => [
      ...(Array.isArray(models) ? models.map(String) : []),
      ...(scope === "model" ? [String(subject)] : []),
    ])
    // Patterns that leave models out, and those of tools.
    .filter((name) => !/^(?:!|tool:)/.test(name));
  // A list that can't be read is reported already.
  const prices = await loadPrices(config, nowMs).catch(() => null);
  if (prices === null) return [];
  const configured = new Set(unpricedModels(config, prices));
  const unpriced = unpricedModels(config, prices, names).filter((name) => !configured.has(name));
  return checkNamedPrices(unpriced, config.budgets.budgets.length + budgets.length > 0);
}

async function checkServices(
  session: Session,
  flags: DoctorFlags,
  { config, host }: { readonly config: Config | null; readonly host: HostFacts },
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  try {
    await withDaemon(session, flags, async (client) => {
      const answer = bodyOrThrow(await client.call("status", null));
      const status = isObject(answer) ? answer : {};
      append(findings, checkDaemon(status, version));
      const nowMs = session.nowMs();
      const freeBytes = host.disk?.freeBytes ?? null;
      if (config !== null) append(findings, checkStore(config, { status, nowMs, freeBytes }));
      append(findings, checkCluster(status, config !== null && config.cluster !== null));
      const daemonAgeSeconds = readDaemonAgeSeconds(Number(status["pid"]));
      append(findings, checkHostClock({ ...host, daemonAgeSeconds }, status));
      const summary = await client.call("usage.summary", {
        user_path: "/",
        start_date: dayOf(nowMs - 6 * dayMs),
        end_date: dayOf(nowMs),
        by: "model",
      });
      if (summary.ok && isObject(summary.body))
        append(findings, checkPrices(summary.body["groups"]));
      if (config !== null)
        append(findings, await checkPricesOfNames(config, client, session.nowMs));
    });
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    // Problems of the configuration are already reported, and say nothing about the daemon.
    if (error.exitCode === exitCodes.configuration)
      findings.push(warning("daemon", "not asked: the configuration says where, or --socket does"));
    else findings.push(failedFinding("daemon", error.message.replace(/^error: /, "")));
  }
  const url = config === null ? null : healthUrl(config);
  if (config !== null && url !== null) {
    const { askHealth } = await import("../session/ask-health.js");
    const health = await askHealth(url, healthDeadlineMs, operatorKey(config));
    append(findings, checkProxy(health.body, health.reason, version));
  }
  return findings;
}

async function checkProviders(session: Session, config: Config): Promise<readonly Finding[]> {
  const { askProvider } = await import("../checks/ask-provider.js");
  const offsetsMs: number[] = [];
  const findings = await Promise.all(
    config.providers.map(async (provider): Promise<Finding> => {
      const answer = provider.type === "simulator" ? null : await askProvider(provider);
      if (answer?.dateMs != null) offsetsMs.push(session.nowMs() - answer.dateMs);
      const { name, state, text } = judgeProvider(provider, answer);
      return { check: `provider ${name}`, state, text };
    }),
  );
  return [...findings, ...checkClock(offsetsMs)];
}

function bundle(
  file: string,
  parts: {
    readonly session: Session;
    readonly config: Config | null;
    readonly host: HostFacts;
    readonly findings: readonly Finding[];
  },
): void {
  const { session, config, host, findings } = parts;
  const text = JSON.stringify(
    {
      version,
      host,
      findings,
      // Secrets appear as `set` or `not set`.
      settings: config?.settings ?? null,
      providers: config?.providers.map(({ name, type, models }) => ({ name, type, models })),
      rules: config?.rateLimits.rules.length,
      budgets: config?.budgets.budgets.length,
    },
    null,
    2,
  );
  writeNewFile(file, session.cwd, `${text}\n`);
  session.terminal.err(`written: ${file}; read it before you pass it on`);
}
