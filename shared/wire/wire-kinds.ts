/**
 * The description of messages: a table of named fields, each of a kind that checks, reads and
 * writes its value in a frame. The message's type, reader and writer are derived from the table.
 * The messages are in `message-to-daemon.ts` and `message-from-daemon.ts`.
 *
 * Reader and writer are compiled once into code as a person would write it
 * (`docs/contributing/decisions.md`): a loop over the fields takes up to thirty times as long.
 */
import { isCount } from "../checked.js";

/** What a reader returns for a value that breaks the grammar. */
export const broken = Symbol("breaks the grammar");
type Broken = typeof broken;

/** A kind of value: `T` in a message, whatever msgpack holds in a frame. */
export interface Kind<T> {
  readonly read: (raw: unknown) => T | Broken;
  /** Absent if the value goes into the frame unchanged. */
  readonly write?: (value: T) => unknown;
}

interface OptionalKind<T> extends Kind<T | undefined> {
  readonly optional: true;
}

/** A field that isn't in the frame because it is constant. */
interface Constant<T extends string> {
  readonly constant: T;
}

interface AnyKind {
  readonly read: (raw: unknown) => unknown;
  readonly write?: (value: never) => unknown;
}

/**
 * The fields of a message or structure, in the order of the frame. Later releases add fields only
 * at the end: readers ignore what follows the fields that they know.
 */
type Fields = Readonly<Record<string, AnyKind | Constant<string>>>;

/** The type of the values of a kind. */
export type ValueOf<K> =
  K extends Constant<infer T>
    ? T
    : K extends { readonly read: (raw: unknown) => infer V }
      ? Exclude<V, Broken>
      : never;

type OptionalNames<F> = {
  [N in keyof F]: F[N] extends { readonly optional: true } ? N : never;
}[keyof F];

type Flat<T> = { readonly [N in keyof T]: T[N] };

type Structure<F> = Flat<
  { readonly [N in keyof F as N extends OptionalNames<F> ? never : N]: ValueOf<F[N]> } & {
    readonly [N in keyof F as N extends OptionalNames<F> ? N : never]?: ValueOf<F[N]>;
  }
>;

/** The values that a type guard accepts. */
export function kindOf<T>(isValid: (value: unknown) => value is T): Kind<T> {
  return { read: (raw) => (isValid(raw) ? raw : broken) };
}

export const text = kindOf((value) => typeof value === "string");
export const flag = kindOf((value) => typeof value === "boolean");

/** Any value of msgpack; absent is null. */
export const anything: Kind<unknown> = {
  read: (raw) => (raw === undefined ? broken : raw),
  write: (value) => value ?? null,
};

/** A safe integer of at least `min`. */
export function count(min = 0): Kind<number> {
  return min === 0
    ? kindOf((value) => isCount(value))
    : kindOf((value): value is number => isCount(value, min));
}

export function oneOf<const T extends string>(values: readonly T[]): Kind<T> {
  const allowed: ReadonlySet<unknown> = new Set(values);
  return { read: (raw) => (allowed.has(raw) ? (raw as T) : broken) };
}

export function constant<const T extends string>(value: T): Constant<T> {
  return { constant: value };
}

/** A value or null. */
export function nullable<T>({ read, write = identity }: Kind<T>): Kind<T | null> {
  return {
    read: (raw) => (raw === null ? null : read(raw)),
    write: (value) => (value === null ? null : write(value)),
  };
}

/** A structure or null, which is an empty array in a frame. */
export function orEmpty<T>({ read, write = identity }: Kind<T>): Required<Kind<T | null>> {
  return {
    read: (raw) => (Array.isArray(raw) && raw.length === 0 ? null : read(raw)),
    write: (value) => (value === null ? [] : write(value)),
  };
}

/**
 * A field that may be undefined, after all others of its structure. It is omitted at the end, and
 * null before a field that is present.
 */
export function optional<T>({ read, write = identity }: Kind<T>): OptionalKind<T> {
  return {
    optional: true,
    read: (raw) => (raw === undefined || raw === null ? undefined : read(raw)),
    write: (value) => (value === undefined ? undefined : write(value)),
  };
}

/** A list of `min` to `max` values. */
export function listOf<T>({ read, write }: Kind<T>, max: number, min = 0): Kind<readonly T[]> {
  return {
    read(raw) {
      if (!Array.isArray(raw) || raw.length > max || raw.length < min) return broken;
      const values: T[] = [];
      for (const item of raw as readonly unknown[]) {
        const value = read(item);
        if (value === broken) return broken;
        values.push(value as T);
      }
      return values;
    },
    ...(write === undefined ? {} : { write: (values: readonly T[]) => values.map(write) }),
  };
}

interface Compiled<T> extends Kind<T> {
  readonly write: (value: T) => readonly unknown[];
}

/** Several values as an array within a frame. `isValid` checks them together. */
export function structure<const F extends Fields>(
  fields: F,
  isValid: (value: Structure<F>) => boolean = always,
): Compiled<Structure<F>> {
  return compileKind(null, fields, isValid);
}

/** A message: a frame that begins with its kind. */
export interface MessageKind<T> extends Compiled<T> {
  readonly kind: string;
}

export function message<const K extends string, const F extends Fields>(
  kind: K,
  fields: F,
  isValid: (value: Flat<{ readonly kind: K } & Structure<F>>) => boolean = always,
): MessageKind<Flat<{ readonly kind: K } & Structure<F>>> {
  return { kind, ...compileKind(kind, fields, isValid) };
}

interface AnyMessageKind {
  readonly kind: string;
  readonly read: (raw: unknown) => unknown;
  readonly write: (value: never) => readonly unknown[];
}

/** All messages of one direction. */
export function messages<const M extends AnyMessageKind>(all: readonly M[]): Compiled<ValueOf<M>> {
  const byKind = new Map<unknown, AnyMessageKind>(all.map((message) => [message.kind, message]));
  return {
    read(frame) {
      if (!Array.isArray(frame)) return broken;
      const kindOfFrame = byKind.get(frame[0]);
      return kindOfFrame === undefined ? broken : (kindOfFrame.read(frame) as ValueOf<M>);
    },
    write: (value) => byKind.get((value as { kind: string }).kind)!.write(value as never),
  };
}

/** The source of both functions contains only our own field names. */
function compileKind<T>(
  kind: string | null,
  fields: Fields,
  isValid: (value: T) => boolean,
): Compiled<T> {
  const head = kind === null ? [] : [JSON.stringify(kind)];
  const reads: string[] = [];
  const values = kind === null ? [] : [`kind: ${head[0]}`];
  const elements = [...head];
  let required = head.length;
  for (const [name, field] of Object.entries(fields)) {
    if ("constant" in field) {
      values.push(`${name}: ${JSON.stringify(field.constant)}`);
      continue;
    }
    reads.push(
      `const $${name} = fields.${name}.read(frame[${elements.length}]);`,
      `if ($${name} === broken) return broken;`,
    );
    values.push(`${name}: $${name}`);
    elements.push(
      field.write === undefined ? `value.${name}` : `fields.${name}.write(value.${name})`,
    );
    if (!("optional" in field)) required = elements.length;
  }
  const read = new Function(
    "fields",
    "broken",
    "isValid",
    `return (frame) => {
      if (!Array.isArray(frame)) return broken;
      ${reads.join("\n")}
      const value = { ${values.join(", ")} };
      return isValid(value) ? value : broken;
    }`,
  ) as (...of: unknown[]) => Kind<T>["read"];
  const shorten =
    required === elements.length
      ? ""
      : `while (frame.length > ${required} && frame[frame.length - 1] === undefined) frame.pop();`;
  const write = new Function(
    "fields",
    `return (value) => {
      const frame = [${elements.join(", ")}];
      ${shorten}
      return frame;
    }`,
  ) as (...of: unknown[]) => Compiled<T>["write"];
  return { read: read(fields, broken, isValid), write: write(fields) };
}

function identity<T>(value: T): unknown {
  return value;
}

function always(): boolean {
  return true;
}
