/**
 * Other names that people use for commands and flags: an unknown one is answered with the right
 * one, if it exists in that place. commander handles misspellings. Pure.
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
  configure: ["init"],
  connections: ["in-flight"],
  cost: ["usage"],
  costs: ["usage"],
  create: ["set", "issue"],
  debug: ["doctor"],
  del: ["delete"],
  diagnose: ["doctor"],
  diff: ["limits apply", "apply"],
  disable: ["deactivate"],
  dump: ["limits export", "export", "show"],
  export: ["limits export", "export"],
  get: ["list"],
  health: ["status"],
  import: ["limits apply", "apply"],
  info: ["status"],
  jwt: ["jwts"],
  key: ["keys"],
  limit: ["limits"],
  lint: ["config check", "check"],
  load: ["limits apply", "apply"],
  log: ["tail"],
  logs: ["tail"],
  ls: ["list"],
  models: ["providers"],
  monitor: ["top"],
  new: ["issue", "set"],
  ping: ["status"],
  plan: ["limits apply", "apply"],
  print: ["show"],
  ps: ["in-flight"],
  put: ["set"],
  quota: ["limits"],
  quotas: ["limits"],
  "rate-limits": ["limits"],
  remove: ["delete"],
  report: ["usage"],
  requests: ["tail"],
  restart: ["reload"],
  revoke: ["deactivate"],
  rm: ["delete"],
  rules: ["limits"],
  run: ["up"],
  schema: ["config schema"],
  serve: ["up"],
  server: ["up"],
  setup: ["init"],
  show: ["list"],
  spend: ["usage"],
  start: ["up"],
  test: ["config check", "check"],
  token: ["keys"],
  tokens: ["keys"],
  update: ["set"],
  validate: ["config check", "check"],
  verify: ["verify-store", "check"],
  version: ["--version"],
  watch: ["top"],
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

/** Commands of other programs that this program doesn't have. */
const endings = new Set(["down", "halt", "kill", "quit", "shutdown", "stop"]);
const howItEnds =
  " (sluice up ends by Ctrl-C or SIGTERM, the services by systemctl stop sluice.target)";

/** ` (Did you mean limits?)` for an unknown word on a command line, or nothing. */
export function otherWord(program: Command, argv: readonly string[]): string {
  let command = program;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!;
    if (word.startsWith("-")) {
      const options = [...command.options, ...program.options];
      const flag = word.replace(/=.*$/s, "");
      const known = options.find(({ long }) => long === flag);
      if (known === undefined)
        return meant(flagWords[flag], (name) => options.some(({ long }) => long === name));
      // The next word is its value.
      if (known.required && flag === word) at++;
      continue;
    }
    const below = command.commands.find((child) => child.name() === word);
    if (below !== undefined) command = below;
    else if (command.commands.length === 0) {
      const isFile = command.registeredArguments.length === 0 && /\.(?:ya?ml|json)$/i.test(word);
      if (isFile) return ` (Did you mean --config ${word}?)`;
    } else if (command === program && endings.has(word)) return howItEnds;
    else if (Object.hasOwn(commandWords, word))
      return meant(commandWords[word], (name) => isCommand(name, command, program));
    else return elsewhere(word, command, program);
  }
  return "";
}

/**
 * The command line for a request for help (`help limits set`, `limits help set`): the command with
 * `--help`. If there is no such command, only the unknown words, so that their error isn't hidden
 * by a general help text.
 */
export function helpLine(program: Command, argv: readonly string[]): readonly string[] {
  const before = flagsBefore(program, argv);
  const firstFlag = argv.findIndex((word, at) => at >= before && word.startsWith("-"));
  const plain = argv.slice(before, firstFlag === -1 ? argv.length : firstFlag);
  const words: string[] = [];
  let asksByWord = false;
  let command: Command | undefined = program;
  for (const word of plain) {
    // The words after a command without subcommands are its arguments.
    if (command === undefined || command.commands.length === 0) break;
    if (word === "help") asksByWord = true;
    else {
      words.push(word);
      command = command.commands.find((child) => child.name() === word);
    }
  }
  if (!asksByWord && !argv.includes("--help") && !argv.includes("-h")) return argv;
  if (command === undefined) return words;
  return asksByWord ? [...words, "--help"] : argv;
}

/** The number of words before the command: the program's own flags and their values. */
function flagsBefore(program: Command, argv: readonly string[]): number {
  let at = 0;
  while (at < argv.length) {
    const flag = argv[at]!.replace(/=.*$/s, "");
    const known = program.options.find(({ long }) => long === flag);
    if (known === undefined) break;
    at += known.required && flag === argv[at] ? 2 : 1;
  }
  return at;
}

/** `config init` for `init`, and `rotate` for `keys rotate`. */
function elsewhere(word: string, command: Command, program: Command): string {
  const has = (group: Command): boolean => group.commands.some((child) => child.name() === word);
  if (command !== program) return has(program) ? ` (Did you mean sluice ${word}?)` : "";
  const [group, ...others] = program.commands.filter(has);
  return group === undefined || others.length > 0 ? "" : ` (Did you mean ${group.name()} ${word}?)`;
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
