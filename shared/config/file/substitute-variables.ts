/**
 * Replaces `${NAME}` in the values of the file (docs/reference/configuration.md), but not in keys.
 * It runs before any other check, so it also refuses keys such as `__proto__`, which JavaScript
 * objects inherit.
 */
import { isObject } from "../../checked.js";
import { type Environment, variable } from "../environment.js";
import { keyPath } from "../read-mapping.js";

/** Keys whose value may be left out: with an unset or empty variable they count as absent. */
const optionalKeys: ReadonlySet<string> = new Set(["api_key", "master_key", "token"]);
/**
 * Files that only one process reads. A variable that isn't set in this process, such as
 * CREDENTIALS_DIRECTORY, may be set in that one: its placeholder stays here, where no file is read.
 */
const readElsewhere: ReadonlySet<string> = new Set([
  "master_key_file",
  "api_key_file",
  "key_file",
  // The file of a provider's header.
  "file",
  "secret_file",
  "token_file",
  "headers_file",
  "proxy_file",
  "password_file",
  "sentinel_password_file",
]);
const reservedKeys: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);

/**
 * The document with the values of the variables. Reports unset variables and malformed placeholders
 * with their path. Adds a sentence to `unset` for each optional value that is left out.
 */
export function substituteVariables(
  document: unknown,
  env: Environment,
  problems: string[],
  unset: string[] = [],
): unknown {
  return substitute(document, "", "required", { env, problems, unset });
}

interface Context {
  readonly env: Environment;
  readonly problems: string[];
  readonly unset: string[];
}

/** The role of an unset variable: a problem, an absent value, or left to another process. */
type Need = "required" | "optional" | "elsewhere";

function needOf(key: string): Need {
  if (optionalKeys.has(key)) return "optional";
  return readElsewhere.has(key) ? "elsewhere" : "required";
}

function substitute(value: unknown, parentPath: string, need: Need, context: Context): unknown {
  if (typeof value === "string") return substituteText(value, parentPath, need, context);
  if (Array.isArray(value))
    return value.map((item, index) => substitute(item, `${parentPath}[${index}]`, need, context));
  if (!isObject(value)) return value;
  const entries: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const path = keyPath(parentPath, key);
    if (reservedKeys.has(key))
      context.problems.push(`${path} is a reserved name and can't be used`);
    else entries[key] = substitute(item, path, needOf(key), context);
  }
  return entries;
}

/** `$${` comes first, so that an escaped placeholder is never read as a variable. */
const placeholder = /\$\$\{|\$\{([A-Za-z_]\w*)\}|\$\{/g;

/** A text that is `$NAME` as a whole is written with one more `$`. */
const escapedBare = /^\s*\${2,}[A-Z][A-Z0-9_]*\s*$/;

/** `$NAME` in shell notation, which would otherwise be used as the value. */
function isBareVariable(text: string, env: Environment): boolean {
  const name = /^\$([A-Z][A-Z0-9_]*)$/.exec(text.trim())?.[1];
  return name !== undefined && (name.includes("_") || env[name] !== undefined);
}

/** The notations of variables in other gateways and shells; each matches the whole text. */
const otherNotations = [
  /^os\.environ\/([A-Za-z_]\w*)$/,
  /^env[.:]([A-Z][A-Z0-9_]*)$/,
  /^\$\(([A-Z][A-Z0-9_]*)\)$/,
  /^%([A-Z][A-Z0-9_]*)%$/,
  /^\{\{ ?(?:env\.|\.Env\.|\.)?([A-Z][A-Z0-9_]*) ?\}\}$/,
];

function otherVariable(text: string): string | undefined {
  for (const notation of otherNotations) {
    const name = notation.exec(text.trim())?.[1];
    if (name !== undefined) return name;
  }
  return undefined;
}

/**
 * The text with the values of its variables. Null for an absent optional value; undefined after a
 * problem, so that the empty text isn't reported as a second problem.
 */
function substituteText(
  text: string,
  path: string,
  need: Need,
  { env, problems, unset }: Context,
): string | null | undefined {
  if (isBareVariable(text, env)) {
    problems.push(
      `${path} looks like a variable without its braces: write \${NAME}, or $$NAME for the text itself`,
    );
    return undefined;
  }
  const otherNotation = otherVariable(text);
  if (otherNotation !== undefined) {
    problems.push(
      `${path} has a variable in another program's notation: write \${${otherNotation}}`,
    );
    return undefined;
  }
  if (escapedBare.test(text)) return text.replace("$", "");
  const before = problems.length;
  let isMissing = false;
  const result = text.replace(
    placeholder,
    (match: string, name: string | undefined, offset: number) => {
      if (match === "$${") return "${";
      if (name === undefined) {
        const [, variableName] = /^\$\{([A-Za-z_]\w*):?[-=?+]/.exec(text.slice(offset)) ?? [];
        problems.push(
          variableName !== undefined
            ? `${path} gives the variable ${variableName} a default, which Sluice doesn't have: write \${${variableName}}`
            : `${path} holds a \${ that names no variable: write \${NAME}, or $\${ for the two characters themselves`,
        );
        return match;
      }
      const value = variable(env, name);
      if (value !== null) return value;
      if (need === "elsewhere") return match;
      if (need === "optional") {
        isMissing = true;
        unset.push(`${path} needs the environment variable ${name}, which isn't set`);
      } else if (env[name] === undefined)
        problems.push(`${path} needs the environment variable ${name}, which isn't set`);
      return "";
    },
  );
  if (problems.length > before) return undefined;
  return isMissing ? null : result;
}
