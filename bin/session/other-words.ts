/**
 * Hints about unknown words on a command line: a command in another place, and a file without its
 * flag. commander handles misspellings, `program.ts` has the aliases. Pure.
 */
import type { Command } from "commander";

/** Commands of other programs that this program doesn't have. */
const endings = new Set(["down", "halt", "kill", "quit", "shutdown", "stop"]);
const howItEnds =
  " (sluice up ends by Ctrl-C or SIGTERM, the services by systemctl stop sluice.target)";

/** Names of other programs for a flag. */
const otherFlags: Readonly<Record<string, string>> = {
  "--since": "--last",
  "--until": "--to",
  "--user-path": "--path",
  "--output-json": "--json",
};

/**
 * A hint such as ` (Did you mean limits?)` for an unknown word on a command line, or an empty text.
 */
export function otherWord(program: Command, argv: readonly string[]): string {
  let command = program;
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index]!;
    if (word.startsWith("-")) {
      const options = [...command.options, ...program.options];
      const flag = word.replace(/=.*$/s, "");
      const option = options.find(({ long }) => long === flag);
      if (option === undefined) {
        const replacement = otherFlags[flag];
        const isThere =
          replacement !== undefined && options.some(({ long }) => long === replacement);
        return isThere ? ` (Did you mean ${replacement}?)` : "";
      }
      // The next word is its value.
      if (option.required && flag === word) index++;
      continue;
    }
    const below = command.commands.find((child) => isNamed(child, word));
    if (below !== undefined) command = below;
    else if (command.commands.length === 0) {
      const isFile = command.registeredArguments.length === 0 && /\.(?:ya?ml|json)$/i.test(word);
      if (isFile) return ` (Did you mean --config ${word}?)`;
    } else if (command === program && endings.has(word)) return howItEnds;
    else return otherPlaceText(word, command, program);
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
  const firstFlag = argv.findIndex((word, index) => index >= before && word.startsWith("-"));
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
      command = command.commands.find((child) => isNamed(child, word));
    }
  }
  if (!asksByWord && !argv.includes("--help") && !argv.includes("-h")) return argv;
  if (command === undefined) return words;
  return asksByWord ? [...words, "--help"] : argv;
}

/** The word at the place of the command. */
export function commandWord(program: Command, argv: readonly string[]): string | undefined {
  return argv[flagsBefore(program, argv)];
}

/** The number of words before the command: the program's own flags and their values. */
function flagsBefore(program: Command, argv: readonly string[]): number {
  let index = 0;
  while (index < argv.length) {
    const flag = argv[index]!.replace(/=.*$/s, "");
    const option = program.options.find(({ long }) => long === flag);
    if (option === undefined) break;
    index += option.required && flag === argv[index] ? 2 : 1;
  }
  return index;
}

/** `config init` for `init`, and `rotate` for `keys rotate`. */
function otherPlaceText(word: string, command: Command, program: Command): string {
  const has = (group: Command): boolean => group.commands.some((child) => isNamed(child, word));
  if (command !== program) return has(program) ? ` (Did you mean sluice ${word}?)` : "";
  const [group, ...furtherGroups] = program.commands.filter(has);
  return group === undefined || furtherGroups.length > 0
    ? ""
    : ` (Did you mean ${group.name()} ${word}?)`;
}

function isNamed(command: Command, word: string): boolean {
  return command.name() === word || command.aliases().includes(word);
}
