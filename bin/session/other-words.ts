/**
 * What people call commands and flags that have other names here: an unknown one is answered with
 * the right one, if there is one at that place. Misspellings are commander's own matter. Pure.
 */
import type { Command } from "commander";

const commandWords: Readonly<Record<string, readonly string[]>> = {
  add: ["set", "issue", "deny"],
  "api-keys": ["keys"],
  apply: ["limits apply", "apply"],
  "auth-keys": ["keys"],
  budget: ["budgets"],
  check: ["config check", "check"],
  clear: ["reset"],
  cost: ["usage"],
  costs: ["usage"],
  create: ["set", "issue"],
  del: ["delete"],
  diff: ["limits apply", "apply"],
  disable: ["deactivate"],
  dump: ["limits export", "export"],
  export: ["limits export", "export"],
  get: ["list"],
  health: ["status"],
  import: ["limits apply", "apply"],
  info: ["status"],
  jwt: ["jwts"],
  key: ["keys"],
  limit: ["limits"],
  ls: ["list"],
  new: ["issue", "set"],
  plan: ["limits apply", "apply"],
  print: ["show"],
  put: ["set"],
  quota: ["limits"],
  quotas: ["limits"],
  "rate-limits": ["limits"],
  remove: ["delete"],
  report: ["usage"],
  revoke: ["deactivate"],
  rm: ["delete"],
  rules: ["limits"],
  run: ["up"],
  schema: ["config schema"],
  serve: ["up"],
  server: ["up"],
  show: ["list"],
  spend: ["usage"],
  start: ["up"],
  token: ["keys"],
  tokens: ["keys"],
  update: ["set"],
  validate: ["config check", "check"],
  version: ["--version"],
  why: ["explain"],
};

const flagWords: Readonly<Record<string, readonly string[]>> = {
  "--address": ["--host"],
  "--api-key": ["--key-file"],
  "--description": ["--name"],
  "--expiry": ["--expires"],
  "--file": ["--output", "--config"],
  "--force": ["--yes"],
  "--format": ["--json"],
  "--group-by": ["--by"],
  "--in-flight": ["--concurrent"],
  "--limit": ["--requests", "--amount"],
  "--listen": ["--host"],
  "--max-requests": ["--requests"],
  "--max-tokens": ["--tokens"],
  "--since": ["--from"],
  "--tag": ["--label"],
  "--team": ["--path"],
  "--ttl": ["--expires"],
  "--until": ["--to"],
  "--usd": ["--amount"],
  "--user": ["--path"],
  "--user-path": ["--path"],
  "--window": ["--period"],
};

/** ` (Did you mean limits?)` for what wasn't known on a command line, or nothing. */
export function otherWord(program: Command, argv: readonly string[]): string {
  let command = program;
  for (const word of argv) {
    if (word.startsWith("-")) {
      const flags = [...command.options, ...program.options].flatMap(({ long }) => long ?? []);
      const flag = word.replace(/=.*$/s, "");
      if (flags.includes(flag)) continue;
      return meant(flagWords[flag], (name) => flags.includes(name));
    }
    const below = command.commands.find((child) => child.name() === word);
    if (below !== undefined) command = below;
    else if (Object.hasOwn(commandWords, word) && command.commands.length > 0)
      return meant(commandWords[word], (name) => isCommand(name, command, program));
  }
  return "";
}

function isCommand(name: string, command: Command, program: Command): boolean {
  if (name.startsWith("--")) return true;
  const [first, second] = name.split(" ");
  if (second === undefined) return command.commands.some((child) => child.name() === first);
  const group = program.commands.find((child) => child.name() === first);
  return command === program && group?.commands.some((child) => child.name() === second) === true;
}

function meant(names: readonly string[] | undefined, isKnown: (name: string) => boolean): string {
  const known = names?.find(isKnown);
  return known === undefined ? "" : ` (Did you mean ${known}?)`;
}
