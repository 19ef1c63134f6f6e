/**
 * `sluice config check`: reads the configuration as a start would, and says what it holds or what
 * is wrong with it.
 */
import type { Command } from "commander";
import type { Config } from "../../shared/config/config.js";
import { createInertReason, inertRule } from "../../shared/config/inert-rule.js";
import { openBeyondLoopback } from "../../shared/config/open-gateway.js";
import { requireConfiguration } from "../session/configuration.js";
import { missingKeyFiles } from "../session/missing-key-files.js";
import type { Session } from "../session/terminal.js";
import { httpUrl } from "../text/http-url.js";
import { renderFields } from "../text/table.js";
import { type CommandFlags, jsonOption } from "./command-flags.js";

/** Adds `config check` to the program. */
export function addConfig(program: Command, session: Session): void {
  const config = program.command("config").description("look at the configuration");
  config
    .command("check")
    .description("check the configuration without starting anything; every problem is listed")
    .addOption(jsonOption("print the summary as JSON"))
    .action((_options, command: Command) =>
      checkConfiguration(session, command.optsWithGlobals<CommandFlags>()),
    );
}

function checkConfiguration(session: Session, flags: CommandFlags): void {
  const warnings: string[] = [];
  const config = requireConfiguration(session, flags, (warning) => warnings.push(warning));
  warnings.push(...inertModelRules(config));
  warnings.push(...missingKeyFiles(config));
  const refused = openBeyondLoopback(config);
  if (refused !== null)
    warnings.push(
      `the proxy starts only if the daemon has a managed key, which isn't asked here: ${refused}`,
    );
  if (flags.json === true) {
    session.terminal.out(JSON.stringify({ ok: true, ...summarize(config), warnings }));
    return;
  }
  for (const warning of warnings) session.terminal.err(`warning: ${warning}`);
  session.terminal.out(
    `ok: ${sourceOf(config)}\n${renderFields(
      Object.entries(summarize(config))
        .filter(([name]) => name !== "file")
        .map(([name, value]) => [name.replaceAll("_", " "), show(value)]),
    )}`,
  );
}

/**
 * What the daemon will log of them at its start; of the others the configuration itself has warned.
 */
function inertModelRules(config: Config): readonly string[] {
  const reasonOf = createInertReason(config);
  return config.rateLimits.rules.flatMap((rule) => {
    const reason = rule.scope === "model" ? reasonOf(rule) : null;
    return reason === null ? [] : [`inert rule: ${inertRule(rule, reason).name}`];
  });
}

/** Where a configuration came from, for people. */
export function sourceOf(config: Config): string {
  return config.file ?? "built-in default (no configuration file)";
}

function summarize(
  config: Config,
): Readonly<Record<string, string | number | boolean | null | readonly string[]>> {
  const { server, limiter, rateLimits } = config;
  return {
    file: config.file,
    address: httpUrl(server.host, server.port),
    master_key: server.masterKey !== null,
    socket: limiter.socket,
    data_dir: limiter.dataDir,
    providers: config.providers.map(({ name }) => name),
    virtual_models: config.virtualModels.map(({ source }) => source),
    rules: rateLimits.rules.length,
    budgets: config.budgets.budgets.length,
    limits_enabled: rateLimits.enabled,
    budgets_enabled: config.budgets.enabled,
    usage_enabled: config.usageEnabled,
  };
}

function show(value: string | number | boolean | null | readonly string[]): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object")
    return value === null || value.length === 0 ? "none" : value.join(", ");
  return String(value);
}
