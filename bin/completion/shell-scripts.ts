/**
 * Scripts that complete `sluice` in bash, zsh and fish. Pure. Values come from
 * `sluice complete`; the scripts never evaluate them, because a name may contain shell code.
 */
import {
  allNodes,
  type CommandNode,
  lastWord,
  valuesCommand,
  valuesOfArgument,
  valuesOfFlag,
  wordsOfArgument,
  wordsOfFlag,
} from "./command-tree.js";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export function completionScript(shell: Shell, tree: CommandNode): string {
  if (shell === "bash") return bashScript(tree);
  return shell === "zsh" ? zshScript(tree) : fishScript(tree);
}

/** What `sluice complete` knows. The shells complete file names themselves. */
const askedKinds = ["subjects", "keys", "models"] as const;
const ask = (kind: string): string => `sluice ${valuesCommand} ${kind} 2>/dev/null`;

/**
 * Patterns of `<command so far> <word>` for each word that is a command. The scripts walk over the
 * typed words with them; `at` is the command so far.
 */
function commandSteps(tree: CommandNode): readonly string[] {
  return allNodes(tree).flatMap((node) =>
    node.children.map((child) => `${node.name} ${lastWord(child)}`),
  );
}

function wordsOf(node: CommandNode, tree: CommandNode): readonly string[] {
  const flags = [...node.flags, ...tree.flags].map(({ long }) => long);
  const words = [...wordsOfArgument(node), ...node.children.map(lastWord), ...flags, "--help"];
  return [...new Set(words)];
}

/** Patterns of `<command> <flag>` with the values that may follow. */
function wordCases(tree: CommandNode): readonly (readonly [patterns: string, words: string])[] {
  const patterns = new Map<string, string[]>();
  for (const node of allNodes(tree))
    for (const { long } of node.flags) {
      const words = wordsOfFlag(node, long)?.join(" ");
      if (words === undefined) continue;
      patterns.set(words, [...(patterns.get(words) ?? []), quoted(`${node.name} ${long}`)]);
    }
  return [...patterns].map(([words, cases]) => [cases.join("|"), words]);
}

/** Flags with a value that can't be completed, such as a number. */
function otherValueFlags(tree: CommandNode): readonly string[] {
  const flags = allNodes(tree).flatMap((node) => node.flags);
  const optional = new Set(flags.filter((flag) => !flag.needsValue).map(({ long }) => long));
  const longs = flags.map(({ long }) => long);
  return [...new Set(longs)].filter((long) => !optional.has(long) && valuesOfFlag(long) === null);
}

function valueFlags(tree: CommandNode, kind: string): readonly string[] {
  const longs = allNodes(tree).flatMap(({ flags }) => flags.map(({ long }) => long));
  return [...new Set(longs)].filter((long) => valuesOfFlag(long) === kind);
}

function bashScript(tree: CommandNode): string {
  return `# Completes sluice in bash: source <(sluice completion bash)
_sluice() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at="" word i
  local -a found=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "$at $word" in
      ${commandSteps(tree).map(quoted).join("|")}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at $prev" in
${wordCases(tree)
  .map(
    ([patterns, words]) =>
      `    ${patterns}) COMPREPLY=($(compgen -W "${words}" -- "$cur")); return ;;`,
  )
  .join("\n")}
  esac
  case "$prev" in
${askedKinds
  .map((kind) => `    ${valueFlags(tree, kind).join("|")}) mapfile -t found < <(${ask(kind)}) ;;`)
  .join("\n")}
    ${valueFlags(tree, "files").join("|")}) return ;;
    ${otherValueFlags(tree).join("|")}) compopt +o default 2>/dev/null; return ;;
    *)
      case "$at" in
${allNodes(tree)
  .map((node) => {
    const kind = valuesOfArgument(node);
    const values = kind === null || kind === "files" ? "" : `mapfile -t found < <(${ask(kind)}); `;
    return `        ${quoted(node.name)}) ${values}found+=(${wordsOf(node, tree).join(" ")}) ;;`;
  })
  .join("\n")}
      esac ;;
  esac
  for word in "\${found[@]}"; do
    [[ -n $word && $word == "$cur"* ]] && COMPREPLY+=("$(printf %q "$word")")
  done
}
complete -o default -F _sluice sluice`;
}

/** `${found:#}` leaves out empty words, which an empty answer is. */
function zshScript(tree: CommandNode): string {
  return `#compdef sluice
# Completes sluice in zsh: source <(sluice completion zsh)
_sluice() {
  local at="" word i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    case "$at $word" in
      (${commandSteps(tree).map(quoted).join("|")}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
${wordCases(tree)
  .map(([patterns, words]) => `    (${patterns}) compadd -- ${words}; return ;;`)
  .join("\n")}
  esac
  case "\${words[CURRENT-1]}" in
${askedKinds
  .map((kind) => `    (${valueFlags(tree, kind).join("|")}) found=("\${(@f)$(${ask(kind)})}") ;;`)
  .join("\n")}
    (${valueFlags(tree, "files").join("|")}) _files; return ;;
    (${otherValueFlags(tree).join("|")}) return ;;
    (*)
      case "$at" in
${allNodes(tree)
  .map((node) => {
    const kind = valuesOfArgument(node);
    const values = kind === null || kind === "files" ? "" : `found=("\${(@f)$(${ask(kind)})}"); `;
    return `        (${quoted(node.name)}) ${values}found+=(${wordsOf(node, tree).join(" ")}) ;;`;
  })
  .join("\n")}
      esac ;;
  esac
  compadd -- \${found:#}
}
if [ "$funcstack[1]" = "_sluice" ]; then _sluice "$@"; else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _sluice sluice
fi`;
}

function fishScript(tree: CommandNode): string {
  const lines = allNodes(tree).flatMap((node) => {
    const begin = `complete -c sluice -n '__sluice_at "${node.name}"'`;
    const argument = valuesOfArgument(node);
    return [
      ...node.children.map(
        (child) => `${begin} -a ${lastWord(child)} -d ${singleQuoted(child.description)}`,
      ),
      ...node.flags.map(({ long, takesValue, description }) => {
        const kind = valuesOfFlag(long);
        const words = wordsOfFlag(node, long);
        const values =
          words !== null
            ? ` -a ${singleQuoted(words.join(" "))}`
            : kind === null
              ? ""
              : kind === "files"
                ? " -F"
                : ` -a '(${ask(kind)})'`;
        // Completes file names only where a file is expected.
        const value = takesValue ? ` ${kind === "files" ? "-r" : "-x"}${values}` : "";
        return `${begin} -l ${long.slice(2)}${value} -d ${singleQuoted(description)}`;
      }),
      ...wordsOfArgument(node).map((word) => `${begin} -a ${word}`),
      ...(argument === null
        ? []
        : [argument === "files" ? `${begin} -F` : `${begin} -a '(${ask(argument)})'`]),
    ];
  });
  return `# Completes sluice in fish: sluice completion fish | source
function __sluice_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${commandSteps(tree).map(singleQuoted).join(" ")}
        set at (string trim "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
complete -c sluice -f
${lines.join("\n")}`;
}

function quoted(text: string): string {
  return `"${text}"`;
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
