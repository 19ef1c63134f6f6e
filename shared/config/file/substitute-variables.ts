/**
 * `${NAME}` in the values of the file (CONTRACT section 9). Keys aren't touched. It runs before
 * anything is judged, so it is also where keys are refused that could not be told from those that
 * every JavaScript object has.
 */
import { type Environment, variable } from "../environment.js";
import { isMapping, keyPath } from "../read-mapping.js";

/** Values that may be left out: an unset or empty variable in them counts as not given at all. */
const optionalKeys: ReadonlySet<string> = new Set(["api_key", "master_key"]);
const reservedKeys: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);

/**
 * The document with every variable in place. Unset ones and malformed places are told with their
 * path.
 */
export function substituteVariables(
  document: unknown,
  env: Environment,
  problems: string[],
): unknown {
  return substitute(document, "", false, { env, problems });
}

interface Context {
  readonly env: Environment;
  readonly problems: string[];
}

function substitute(value: unknown, at: string, optional: boolean, context: Context): unknown {
  if (typeof value === "string") return substituteText(value, at, optional, context);
  if (Array.isArray(value))
    return value.map((item, index) => substitute(item, `${at}[${index}]`, optional, context));
  if (!isMapping(value)) return value;
  const entries: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const path = keyPath(at, key);
    if (reservedKeys.has(key)) context.problems.push(`${path} is not a name that can be used`);
    else entries[key] = substitute(item, path, optionalKeys.has(key), context);
  }
  return entries;
}

/** `$${` first, so that an escaped place is never read as a variable. */
const place = /\$\$\{|\$\{([A-Za-z_]\w*)\}|\$\{/g;

/**
 * Null for an optional value that isn't given; undefined where a problem was told, so that an empty
 * text isn't told as a second one.
 */
function substituteText(
  text: string,
  at: string,
  optional: boolean,
  { env, problems }: Context,
): string | null | undefined {
  const before = problems.length;
  let missing = false;
  const result = text.replace(place, (match: string, name: string | undefined) => {
    if (match === "$${") return "${";
    if (name === undefined) {
      problems.push(
        `${at} holds a \${ that names no variable: write \${NAME}, or $\${ for the two characters themselves`,
      );
      return match;
    }
    const value = variable(env, name);
    if (value !== null) return value;
    if (optional) missing = true;
    else if (env[name] === undefined)
      problems.push(`${at} needs the environment variable ${name}, which isn't set`);
    return "";
  });
  if (problems.length > before) return undefined;
  return missing ? null : result;
}
