/**
 * `sluice config check`: reads the configuration as a start would, and prints a summary of it or
 * every problem. `sluice config schema`: prints the JSON Schema of `sluice.yaml`.
 */

import type { Command } from "commander";
import type { Config } from "../../../shared/config/config.js";
import { configSchema } from "../../../shared/config/config-schema.js";
import { createInertReason, inertRule } from "../../../shared/config/inert-rule.js";
import { openBeyondLoopback } from "../../../shared/config/open-gateway.js";
import { append } from "../../../shared/long-lists.js";
import { likelyMistakes } from "../../checks/likely-mistakes.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import { configurationSource, requireConfiguration } from "../../session/configuration.js";
import type { Session } from "../../session/terminal.js";
import { unreadableFiles } from "../../session/unreadable-files.js";
import { httpUrl } from "../../text/http-url.js";
import { renderFields } from "../../text/table.js";
import { addConfigShow } from "./config-show.js";

const onlyWithKey =
  "the proxy starts only if the daemon has a managed key, which this command doesn't check";

/** Adds `config` to the program. */
export function addConfig(program: Command, session: Session): void {
  const config = program.command("config").description("check or describe the configuration");
  config
    .command("check")
    .description("check the configuration without starting anything, and list every problem")
    .addOption(jsonOption("print the summary as JSON"))
    .action((_options, command: Command) =>
      checkConfiguration(session, command.optsWithGlobals<CommandFlags>()),
    );
  addConfigShow(config, session);
  config
    .command("schema")
    .description("print the JSON Schema of sluice.yaml, for editors and other tools")
    .action(() => session.terminal.out(JSON.stringify(configSchema(), null, 2)));
}

function checkConfiguration(session: Session, flags: CommandFlags): void {
  const warnings: string[] = [];
  const config = requireConfiguration(session, flags, (warning) => warnings.push(warning));
  append(warnings, inertModelRules(config));
  append(warnings, likelyMistakes(config, warnings));
  append(warnings, unreadableFiles(config));
  const refused = openBeyondLoopback(config);
  if (refused !== null) warnings.push(`${onlyWithKey}: ${refused}`);
  if (flags.json === true) {
    session.terminal.out(JSON.stringify({ ok: true, ...summarize(config), warnings }));
    return;
  }
  for (const warning of warnings) session.terminal.err(`warning: ${warning}`);
  session.terminal.out(
    `ok: ${configurationSource(config)}\n${renderFields(
      Object.entries(summarize(config))
        .filter(([name]) => name !== "file")
        .map(([name, value]) => [name.replaceAll("_", " "), show(value)]),
    )}`,
  );
}

/**
 * The warnings that the daemon will log at its start for rules on models. The configuration itself
 * warns of other inert rules.
 */
function inertModelRules(config: Config): readonly string[] {
  const reasonOf = createInertReason(config);
  return config.rateLimits.rules.flatMap((rule) => {
    const reason = rule.scope === "model" ? reasonOf(rule) : null;
    return reason === null ? [] : [`inert rule: ${inertRule(rule, reason).name}`];
  });
}

function summarize(
  config: Config,
): Readonly<Record<string, string | number | boolean | null | readonly string[]>> {
  const { server, limiter, rateLimits } = config;
  return {
    file: config.file,
    address: httpUrl(server, server.tls),
    ...(server.admin === null ? {} : { admin_address: httpUrl(server.admin, server.tls) }),
    master_key: server.masterKey !== null || server.masterKeyFile !== null,
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
