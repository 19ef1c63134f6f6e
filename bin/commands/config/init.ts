/** `sluice init`: writes an initial configuration. */
import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { bad, type Checked, good } from "../../../shared/checked.js";
import { nameHint } from "../../../shared/config/closest-name.js";
import { variable } from "../../../shared/config/environment.js";
import { type Preset, presetNames, presets } from "../../../shared/config/presets.js";
import { configFileVariable } from "../../../shared/config/settings/settings.js";
import { normalizeUserPath } from "../../../shared/domain/user-path.js";
import type { CommandFlags } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import { requireNewFile, writeNewFile } from "../../session/write-new-file.js";
import { shellWord } from "../../text/shell-word.js";
import { starterFile, type TenantLimits } from "../../text/starter-file.js";

/** Adds `init` to the program. */
export function addInit(program: Command, session: Session): void {
  program
    .command("init")
    .description(
      "write a sluice.yaml to begin with, with a new master key; at a terminal it asks three questions",
    )
    .action((_options, command: Command) =>
      writeStarter(session, command.optsWithGlobals<CommandFlags>()),
    );
}

/** The file contains a key, so no other user may read it. */
async function writeStarter({ terminal, env, cwd }: Session, flags: CommandFlags): Promise<void> {
  const file = flags.config ?? "sluice.yaml";
  const inEnvironment = presets.filter(({ keyVariable }) => (env[keyVariable] ?? "").trim() !== "");
  requireNewFile(file, cwd);
  const ask = terminal.ask === null ? null : againIfWrong(terminal.ask, terminal);
  const providers = ask === null ? inEnvironment : await askProviders(ask, inEnvironment);
  const tenants = ask === null ? null : await askTenants(ask);
  const text = starterFile(providers, randomBytes(24).toString("base64url"), tenants);
  writeNewFile(file, cwd, text);
  const names = providers.map(({ name }) => name).join(", ");
  // Without the file's name, commands would read another file or none.
  const isFound = flags.config === undefined && variable(env, configFileVariable) === null;
  const sluice = isFound ? "sluice" : `sluice --config ${shellWord(file)}`;
  terminal.out(
    [
      `written: ${file}${names === "" ? "" : `, with ${names}`}`,
      `next:    ${sluice} config check`,
      `         ${sluice} up`,
    ].join("\n"),
  );
}

/** Asks the question until the answer is good, and returns what is read of it. */
type Ask = <T>(question: string, read: (answer: string) => Checked<T>) => Promise<T>;

function againIfWrong(
  askOnce: (question: string) => Promise<string>,
  { err }: Pick<Session["terminal"], "err">,
): Ask {
  return async (question, read) => {
    for (;;) {
      const checked = read((await askOnce(question)).trim());
      if (checked.ok) return checked.value;
      err(checked.failure.message);
    }
  };
}

/** Asks which providers to use; by default those whose keys are in the environment. */
function askProviders(ask: Ask, detected: readonly Preset[]): Promise<readonly Preset[]> {
  const names = detected.map(({ name }) => name).join(", ");
  const usual = names === "" ? "none: a simulator answers" : names;
  return ask(`Which providers, such as openai, anthropic? [${usual}] `, (answer) => {
    const answers = answer.split(/[\s,]+/).filter((name) => name !== "");
    if (answers.length === 0) return good(detected);
    const chosen = answers.map((name) =>
      presets.find((preset) => preset.name === name.toLowerCase()),
    );
    const unknown = answers.find((_, index) => chosen[index] === undefined);
    if (unknown !== undefined)
      return bad(
        `${JSON.stringify(unknown)} is no provider that Sluice knows by name${nameHint(unknown, presetNames)}`,
        "providers",
      );
    return good([...new Set(chosen)].filter((preset) => preset !== undefined));
  });
}

const noTenants = /^(?:none|no|-)$/i;

async function askTenants(ask: Ask): Promise<TenantLimits | null> {
  const path = await ask(
    "Below which path is each tenant, such as /customers/acme? none: no tenants [/customers] ",
    (answer) => {
      if (noTenants.test(answer)) return good(null);
      const normal = normalizeUserPath(answer === "" ? "/customers" : answer);
      return normal.ok ? good(normal.path) : bad(`the path ${normal.reason}`, "path");
    },
  );
  if (path === null) return null;
  const monthlyUsd = await ask(
    "How many US dollars a month may each tenant spend? [10] ",
    (answer) => {
      const usd = answer === "" ? 10 : Number(answer.replace(/^\$/, ""));
      return usd > 0 && usd < 1e9
        ? good(usd)
        : bad(
            `the amount must be a number of dollars above 0, not ${JSON.stringify(answer)}`,
            "amount",
          );
    },
  );
  return { path, monthlyUsd };
}
