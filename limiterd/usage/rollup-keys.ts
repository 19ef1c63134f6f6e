/**
 * The keys of the sums of usage in the store, so that every query is a range of keys:
 *
 *   t parent name day               the total of a user path
 *   l label day                     the total of a key's label
 *   m path day provider model       the total of a path, by model
 *   o day path key provider model   what was used at a path itself, by the key and by the name that
 *                                   the client asked for: a virtual model has no provider
 *
 * `/team/app` has the parent `/team` and the name `app`, `/` has neither. The parts are joined by
 * line feeds, which neither paths nor labels hold. Days of one subject are next to each other, and
 * so are the children of a path.
 */
import { printableName } from "../../shared/domain/target-name.js";
import { utf8Bytes } from "../../shared/text/utf8-bytes.js";

/** The part of a total's key before the day. */
export function totalPrefix(userPath: string): string {
  if (userPath === "/") return "t\n\n\n";
  const slash = userPath.lastIndexOf("/");
  return `t\n${slash === 0 ? "/" : userPath.slice(0, slash)}\n${userPath.slice(slash + 1)}\n`;
}

export function labelPrefix(label: string): string {
  return `l\n${label}\n`;
}

/** Before the day in the keys of a path's sums by model. */
export function modelsPrefix(userPath: string): string {
  return `m\n${userPath}\n`;
}

/** Before the name in the totals of a path's direct children. */
export function childrenPrefix(userPath: string): string {
  return `t\n${userPath}\n`;
}

/** The keys that begin with a prefix that ends in a line feed, which `\u000b` follows. */
export function keysUnder(prefix: string): { readonly from: string; readonly before: string } {
  return { from: prefix, before: `${prefix.slice(0, -1)}\u000b` };
}

/** The keys of some days of a prefix, both included. `~` follows all characters of a key's rest. */
export function daysUnder(
  prefix: string,
  fromDay: string,
  toDay: string,
): { readonly from: string; readonly before: string } {
  return { from: prefix + fromDay, before: `${prefix}${toDay}~` };
}

const dayChars = 10;

/** The day in a key with this prefix. */
export function dayIn(key: string, prefix: string): string {
  return key.slice(prefix.length, prefix.length + dayChars);
}

/**
 * The direct child's name in a key with the prefix of `childrenPrefix`. A damaged key may end with
 * the prefix; a reader that goes from child to child must still get past it.
 */
export function childNameIn(key: string, prefix: string): string {
  const end = key.indexOf("\n", prefix.length);
  return end === -1 ? key.slice(prefix.length) : key.slice(prefix.length, end);
}

/** The day of any key. */
export function dayOfKey(key: string): string {
  const parts = key.split("\n");
  return parts[key.startsWith("t") ? 3 : key.startsWith("o") ? 1 : 2] ?? "";
}

/** The path and key that requested a model, and the requested name. */
export interface Origin {
  readonly day: string;
  readonly userPath: string;
  /** Empty without a managed key. */
  readonly keyId: string;
  /** Empty if `model` is a virtual model or an alias. */
  readonly provider: string;
  readonly model: string;
}

const keyIdBytesMax = 32;

/**
 * The key of a sum by origin. `suffix`: the `modelSuffix` of the virtual model or alias that was
 * requested; if none was, that of the executed model. So the bound on models and the configured
 * names also bound the sums of each key.
 */
export function originKey(
  day: string,
  { userPath, keyId }: { readonly userPath: string; readonly keyId: string },
  suffix: string,
): string {
  return `o\n${day}\n${userPath}\n${cutName(printableName(keyId), keyIdBytesMax)}${suffix}`;
}

/** Null for a key of another kind or a damaged one. */
export function originIn(key: string): Origin | null {
  if (!key.startsWith("o\n")) return null;
  const [, day = "", userPath = "", keyId = "", provider = "", model] = key.split("\n");
  return model === undefined ? null : { day, userPath, keyId, provider, model };
}

/** The keys of a day's sums by origin, at a path and below it. */
export function originsUnder(
  day: string,
  userPath: string,
): readonly { readonly from: string; readonly before: string }[] {
  if (userPath === "/") return [keysUnder(`o\n${day}\n`)];
  const path = `o\n${day}\n${userPath}`;
  // `0` is the character after `/`.
  return [keysUnder(`${path}\n`), { from: `${path}/`, before: `${path}0` }];
}

export function isAtOrBelow(path: string, top: string): boolean {
  return top === "/" || path === top || path.startsWith(`${top}/`);
}

/** Bounds with which a key with the longest path is short enough for LMDB. */
const providerBytesMax = 256;
const modelBytesMax = 600;

/** What follows the day in a sum by model. */
export function modelSuffix(provider: string, model: string): string {
  return `\n${cutName(provider, providerBytesMax)}\n${cutName(model, modelBytesMax)}`;
}

/** Provider and model of a sum by model. */
export function modelIn(
  key: string,
  prefix: string,
): { readonly provider: string; readonly model: string } {
  const start = prefix.length + dayChars + 1;
  const end = key.indexOf("\n", start);
  return { provider: key.slice(start, end), model: key.slice(end + 1) };
}

/** Cuts names that are too long for a key. */
function cutName(name: string, bytesMax: number): string {
  if (name.length * 3 <= bytesMax || utf8Bytes(name) <= bytesMax) return name;
  let end = Math.min(name.length, bytesMax - 3);
  while (utf8Bytes(name.slice(0, end)) > bytesMax - 3) end--;
  return `${name.slice(0, end)}…`;
}
