/** What `sluice up` prints before it starts anything and once both services are ready. Pure. */
import type { Config } from "../../shared/config/config.js";
import { version } from "../../shared/version.js";
import { configurationSource } from "../session/configuration.js";
import { formatCount } from "../text/number-text.js";
import { shellWord } from "../text/shell-word.js";

/** The first lines: the version of Sluice, and where its configuration comes from. */
export function bannerText(config: Config): string {
  return `sluice ${version}\nconfiguration: ${configurationSource(config)}`;
}

/** With fewer rules and budgets a start is too short for a message. */
const manyLimits = 10_000;

/**
 * The message during a start with many rules: what both services read, and for how long. Null with
 * few.
 */
export function startingText(
  { rateLimits: { rules }, budgets: { budgets } }: Pick<Config, "rateLimits" | "budgets">,
  seconds: number,
): string | null {
  if (rules.length + budgets.length < manyLimits) return null;
  return `starting:      ${formatCount(rules.length)} rules, ${formatCount(budgets.length)} budgets, ${seconds} s so far`;
}

/** The address, the dashboard's, a request to try, and notes on a simulator and an open gateway. */
export function readyText(options: {
  readonly url: string;
  /** Where /admin and the dashboard are. */
  readonly admin: string;
  readonly open: boolean;
  readonly config: Config;
}): string {
  const { open, config } = options;
  const url = options.url.replace(/\/+$/, "");
  const lines = [
    `ready:         ${url}`,
    `dashboard:     ${options.admin.replace(/\/+$/, "")}/dashboard/`,
    "",
    `Try it${keyPlace(config)}:`,
    "",
    `  ${curlLine(url, config, open)}`,
    "",
  ];
  const simulators = config.providers
    .filter(({ type }) => type === "simulator")
    .map(({ name }) => name);
  if (simulators.length > 0)
    lines.push(
      simulators.length === 1
        ? `Note: the provider ${simulators[0]} is a simulator: it makes up its answers and calls no model.`
        : `Note: the providers ${simulators.join(", ")} are simulators: they make up their answers and call no model.`,
    );
  if (open)
    lines.push(
      "Note: the gateway is open: without a master key anyone who reaches this address may use it. Set SLUICE_MASTER_KEY to close it.",
    );
  lines.push("Ctrl-C stops it.");
  return lines.join("\n");
}

/**
 * One line that works by copy and paste. The shell fills in the key, so that the screen doesn't
 * show it.
 */
function curlLine(url: string, config: Config, open: boolean): string {
  const body = JSON.stringify({
    model: exampleModel(config) ?? "MODEL",
    messages: [{ role: "user", content: "Hello!" }],
  });
  const { masterKey, masterKeyFile } = config.server;
  const token =
    masterKey !== null
      ? "$SLUICE_MASTER_KEY"
      : masterKeyFile !== null
        ? `$(cat ${shellWord(masterKeyFile)})`
        : config.jwtIssuers.length > 0
          ? "$TOKEN"
          : open
            ? null
            : "$SLUICE_KEY";
  const key = token === null ? "" : ` -H "Authorization: Bearer ${token}"`;
  const data = `-H 'Content-Type: application/json' -d ${shellWord(body)}`;
  return `curl ${url}/v1/chat/completions${key} ${data}`;
}

/** Where the shell gets the master key from, if it may not have it. */
function keyPlace({ settings, file, server }: Config): string {
  const source = settings.find(({ path }) => path === "server.master_key")?.source;
  if (server.masterKey === null || source !== "file") return "";
  return `, once SLUICE_MASTER_KEY is the server.master_key of ${file}`;
}

/** The first model that the configuration names, null when it names none. */
export function exampleModel(config: Config): string | null {
  for (const { type, models } of config.providers) {
    const firstModel = (models ?? []).find((model) => model !== "*");
    if (firstModel !== undefined) return firstModel;
    if (type === "simulator") return "sim-fast";
  }
  return config.virtualModels[0]?.source ?? null;
}
