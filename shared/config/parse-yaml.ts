/**
 * The text of a configuration file as plain values. Knows YAML (1.2, one document, unique keys, no
 * tags) and nothing of what the values mean.
 */
import { type Document, LineCounter, parseDocument, visit } from "yaml";

/** An alias may be used often, but not to blow a small file up. */
const aliasesMax = 100;

/**
 * Parses a text. Problems name line and column. `document` is undefined when the text can't be
 * understood; keys that stand twice are told, and what is left is still returned for checking.
 */
export function parseYaml(text: string): { readonly document: unknown; readonly problems: readonly string[] } {
  const lines = new LineCounter();
  const parsed = parseDocument(text, {
    lineCounter: lines,
    // The pretty form quotes the line, which may hold a key.
    prettyErrors: false,
    resolveKnownTags: false,
    stringKeys: true,
    // Not `silent`: that would drop a second document without a word.
    logLevel: "error",
  });
  const where = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `line ${line}, column ${col}`;
  };
  const problems: string[] = [];
  let understood = true;
  for (const error of [...parsed.errors, ...parsed.warnings]) {
    problems.push(`${where(error.pos[0])}: ${sentence(error.code, error.message, keyAt(text, error.pos[0]))}`);
    if (error.code !== "DUPLICATE_KEY") understood = false;
  }
  if (understood) {
    for (const { offset, wrong } of wrongAliases(text, parsed)) {
      problems.push(`${where(offset)}: ${sentence("BAD_ALIAS", wrong, "")}`);
      understood = false;
    }
  }
  if (!understood) return { document: undefined, problems };
  return toValues(parsed, problems);
}

/** Aliases without an anchor before them, and those within what they stand for: a value without an end. The conversion to values would refuse the first too, but without their places. */
function wrongAliases(text: string, parsed: Document): readonly { readonly offset: number; readonly wrong: string }[] {
  // A visit of 100,000 rules takes a second.
  if (!text.includes("*")) return [];
  const wrong: { offset: number; wrong: string }[] = [];
  visit(parsed, {
    Alias: (_, alias, ancestors) => {
      const source = alias.resolve(parsed);
      const offset = alias.range?.[0] ?? 0;
      if (source === undefined) wrong.push({ offset, wrong: "an alias without its anchor before it" });
      else if (ancestors.some((node) => node === source)) wrong.push({ offset, wrong: "an alias within its own anchor" });
    },
  });
  return wrong;
}

function toValues(parsed: Document, problems: string[]): { readonly document: unknown; readonly problems: readonly string[] } {
  try {
    return { document: parsed.toJS({ maxAliasCount: aliasesMax }) as unknown, problems };
  } catch (cause) {
    problems.push(cause instanceof Error ? cause.message : String(cause));
    return { document: undefined, problems };
  }
}

/** Says what is wrong without quoting values: one that begins with `!`, `*` or `|` may be a password that lacks its quotes. */
function sentence(code: string, message: string, key: string): string {
  switch (code) {
    case "DUPLICATE_KEY": return `the key ${key} stands twice`;
    case "MULTIPLE_DOCS": return "the file holds several documents (---): one is expected";
    case "NON_STRING_KEY": return "a key must be a text";
    case "BAD_ALIAS": return `${message} (a value that begins with * must be in quotes)`;
    case "TAB_AS_INDENT": return "tabs can't be used as indentation: use spaces";
    case "TAG_RESOLVE_FAILED": return "a tag can't be used (a value that begins with ! must be in quotes)";
    default: return message.replace(/: .*$/s, "");
  }
}

/** The key that begins at an offset, for a message. */
function keyAt(text: string, offset: number): string {
  return /^[^\s:,{}[\]]{1,60}/.exec(text.slice(offset, offset + 60))?.[0] ?? "";
}
