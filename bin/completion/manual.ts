/** The manual page sluice(1), in roff. Pure. */
import { exitCodeMeanings } from "../session/exit-code.js";
import { allNodes, type CommandNode, type FlagNode } from "./command-tree.js";

export function manualPage(tree: CommandNode, version: string): string {
  return [
    `.TH SLUICE 1 "" "sluice ${version}" "User Commands"`,
    ".SH NAME",
    "sluice \\- an LLM gateway with exact limits",
    ".SH SYNOPSIS",
    ".B sluice",
    "[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]",
    ".SH DESCRIPTION",
    plainText(tree.description),
    plainText("It runs a gateway and administers one that runs, on this host or elsewhere."),
    ".SH OPTIONS",
    plainText("Every command takes them, before or after its name."),
    ...tree.flags.flatMap(flagLines),
    ".SH COMMANDS",
    ...allNodes(tree).slice(1).filter(does).flatMap(commandLines),
    ".SH EXIT STATUS",
    ...exitCodeMeanings.flatMap(({ code, meaning }) => [".TP", `.B ${code}`, plainText(meaning)]),
    ".SH FILES",
    ".TP",
    ".I ./sluice.yaml, /etc/sluice/sluice.yaml",
    plainText("The configuration; SLUICE_CONFIG or --config name another."),
    ".SH SEE ALSO",
    plainText(
      "The documentation that is installed beside the program, docs/reference/command-line.md first.",
    ),
    "",
  ].join("\n");
}

/** Whether it is a command of its own, not only a group. */
function does({ children, flags }: CommandNode): boolean {
  return children.length === 0 || flags.length > 0;
}

function commandLines({ name, args, description, flags }: CommandNode): readonly string[] {
  return [
    `.SS ${escapedText(["sluice", name, ...args].join(" "))}`,
    plainText(description),
    ...flags.flatMap(flagLines),
  ];
}

function flagLines({ usage, description }: FlagNode): readonly string[] {
  return [".TP", `.B ${escapedText(usage)}`, plainText(description)];
}

/** A line of text, escaped so that roff doesn't read it as a request. */
function plainText(text: string): string {
  return escapedText(text).replace(/^(?=[.'])/, "\\&");
}

function escapedText(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("\n", " ");
}
