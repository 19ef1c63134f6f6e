/**
 * Scripts that complete `sluice` in bash, zsh and fish. Pure. Values come from the gateway by
 * `sluice complete`; none of them is ever evaluated, for a name may hold what a shell would run.
 */
import {
  allNodes,
  type CommandNode,
  lastWord,
  valuesCommand,
  valuesOfArgument,
  valuesOfFlag,
} from "./command-tree.js";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export function completionScript(shell: Shell, tree: CommandNode): string {
  if (shell === "bash") return bashScript(tree);
  return shell === "zsh" ? zshScript(tree) : fishScript(tree);
}

const ask = (kind: string): string => `sluice ${valuesCommand} ${kind} 2>/dev/null`;

/** Patterns of `<command so far> <word>` for each word that is a command. */
function commandSteps(tree: CommandNode): readonly string[] {
  return allNodes(tree).flatMap((node) =>
    node.children.map((child) => `${node.name} ${lastWord(child)}`),
  );
}

function wordsOf(node: CommandNode, tree: CommandNode): readonly string[] {
  const flags = [...node.flags, ...tree.flags].map(({ long }) => long);
  return [...new Set([...node.children.map(lastWord), ...flags, "--help"])];
}

function valueFlags(tree: CommandNode, kind: string): readonly string[] {
  const longs = allNodes(tree).flatMap(({ flags }) => flags.map(({ long }) => long));
  return [...new Set(longs)].filter((long) => valuesOfFlag(long) === kind);
}

function bashScript(tree: CommandNode): string {
  const kinds = ["subjects", "keys", "models"] as const;
  return `# Completes sluice in bash: source <(sluice completion bash)
_sluice() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at="" word i
  local -a found=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "$at $word" in
      ${commandSteps(tree).map(quoted).join("|")}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$prev" in
${kinds
  .map((kind) => `    ${valueFlags(tree, kind).join("|")}) mapfile -t found < <(${ask(kind)}) ;;`)
  .join("\n")}
    ${valueFlags(tree, "files").join("|")}) return ;;
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
  COMPREPLY=()
  for word in "\${found[@]}"; do
    [[ -n $word && $word == "$cur"* ]] && COMPREPLY+=("$(printf %q "$word")")
  done
}
complete -o default -F _sluice sluice`;
}

function zshScript(tree: CommandNode): string {
  const kinds = ["subjects", "keys", "models"] as const;
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
  case "\${words[CURRENT-1]}" in
${kinds
  .map((kind) => `    (${valueFlags(tree, kind).join("|")}) found=("\${(@f)$(${ask(kind)})}") ;;`)
  .join("\n")}
    (${valueFlags(tree, "files").join("|")}) _files; return ;;
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
if [ "$funcstack[1]" = "_sluice" ]; then _sluice "$@"; else compdef _sluice sluice; fi`;
}

function fishScript(tree: CommandNode): string {
  const lines = allNodes(tree).flatMap((node) => {
    const begin = `complete -c sluice -n '__sluice_at "${node.name}"'`;
    const argument = valuesOfArgument(node);
    return [
      ...node.children.map(
        (child) => `${begin} -a ${lastWord(child)} -d ${single(child.description)}`,
      ),
      ...node.flags.map(({ long, takesValue, description }) => {
        const kind = valuesOfFlag(long);
        const values = kind === null ? "" : kind === "files" ? " -F" : ` -a '(${ask(kind)})'`;
        const value = takesValue ? ` -r${values}` : "";
        return `${begin} -l ${long.slice(2)}${value} -d ${single(description)}`;
      }),
      ...(argument === null || argument === "files" ? [] : [`${begin} -a '(${ask(argument)})'`]),
    ];
  });
  return `# Completes sluice in fish: sluice completion fish | source
function __sluice_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${commandSteps(tree).map(single).join(" ")}
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

function single(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
