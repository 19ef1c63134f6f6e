/**
 * What a host and the engine make of each other's definitions when they may both have something
 * that the other hasn't: the host joins, was away for long, or the engine has lost data. Of each
 * definition the value with the later stamp wins.
 */
import type { Definition } from "./definition.js";
import {
  type DefinitionsState,
  fieldOf,
  type Stamped,
} from "./definition-engine.js";

/** A definition that this host made before it shared any. */
export interface OwnDefinition extends Definition {
  /** In ms; when it was last changed. */
  readonly changedAtMs: number;
}

interface Sides {
  readonly engine: { readonly state: DefinitionsState; readonly all: readonly Stamped[] };
  readonly copy: { readonly clusterId: string | null; readonly all: Iterable<Stamped> };
  /** Definitions of this host that its copy hasn't. */
  readonly own: readonly OwnDefinition[];
}

interface Reconciling {
  /** The engine's, which this host hasn't. */
  readonly taken: readonly Stamped[];
  /** Of this host's copy, which the engine hasn't. */
  readonly told: readonly Stamped[];
  /** Its own, which are everybody's from now on. */
  readonly joined: readonly Stamped[];
  /** What was deleted while the host was away, and the engine has forgotten. */
  readonly deleted: readonly Stamped[];
  /** Own definitions in whose place the engine's were taken. */
  readonly replaced: readonly Definition[];
  /** Own keys that got another number, since another key has theirs. */
  readonly renumbered: readonly Renumbered[];
}

export interface Renumbered {
  readonly from: number;
  readonly to: number;
}

/** Below every stamp that an engine gives: what joins never replaces what is there. */
const joiningStamp = 1;

export function planReconciling({ engine, copy, own }: Sides): Reconciling {
  const theirs = new Map(engine.all.map((one) => [fieldOf(one), one]));
  const mine = new Map<string, Stamped>();
  for (const one of copy.all) mine.set(fieldOf(one), one);
  const taken: Stamped[] = [];
  const told: Stamped[] = [];
  const deleted: Stamped[] = [];
  for (const [field, one] of theirs) {
    const known = mine.get(field);
    if (known === undefined || isInForce(one, known)) taken.push(one);
  }
  const isSameCluster = copy.clusterId === engine.state.clusterId;
  for (const [field, one] of mine) {
    const known = theirs.get(field);
    if (known !== undefined) {
      if (one.stamp > known.stamp) told.push(one);
    } else if (isSameCluster && one.stamp <= engine.state.trimmed) deleted.push(one);
    else told.push(one);
  }
  return { ...join(own, theirs, mine), taken, told, deleted };
}

/** Whether what the engine has is to be applied in the place of a copy. */
export function isInForce(read: Stamped, known: Stamped): boolean {
  return (
    read.stamp > known.stamp ||
    (read.stamp === known.stamp && JSON.stringify(read.value) !== JSON.stringify(known.value))
  );
}

function join(
  own: readonly OwnDefinition[],
  theirs: ReadonlyMap<string, Stamped>,
  mine: ReadonlyMap<string, Stamped>,
): Pick<Reconciling, "joined" | "replaced" | "renumbered"> {
  const joined: Stamped[] = [];
  const replaced: Definition[] = [];
  const renumbered: Renumbered[] = [];
  const hashes = new Set([...theirs.values()].map(hashOf).filter((hash) => hash !== null));
  let lastNumber = 0;
  for (const one of [...theirs.values(), ...mine.values(), ...own])
    if (one.kind === "keys") lastNumber = Math.max(lastNumber, Number(one.key));
  for (const { changedAtMs, ...one } of own) {
    const known = theirs.get(fieldOf(one));
    if (one.kind === "keys") {
      const hash = hashOf(one);
      if (known === undefined) {
        if (hash === null || !hashes.has(hash)) joined.push({ ...one, stamp: joiningStamp });
      } else if (isSameKey(one, known)) {
        // What has ended on either side has ended.
        if (hasEnded(one) && !hasEnded(known)) joined.push({ ...one, stamp: known.stamp + 1 });
      } else if (hash !== null && !hashes.has(hash)) {
        const to = ++lastNumber;
        renumbered.push({ from: Number(one.key), to });
        joined.push({ ...one, key: String(to), stamp: joiningStamp });
      }
    } else if (known === undefined || changedAtMs * 1000 > known.stamp)
      joined.push({ ...one, stamp: Math.max(joiningStamp, changedAtMs * 1000) });
    else if (JSON.stringify(one.value) !== JSON.stringify(known.value)) replaced.push(one);
  }
  return { joined, replaced, renumbered };
}

/** Whether two values under one number are of one key, by when it was made. */
function isSameKey(a: Definition, b: Definition): boolean {
  return madeAt(a) === madeAt(b);
}

/** As `keys/stored-key.ts` has it. */
function madeAt({ value }: Definition): unknown {
  return value?.[value.length === 3 ? 1 : 5];
}

/** Whether a key is deactivated or deleted. */
function hasEnded({ value }: Definition): boolean {
  if (value === null || value.length === 3) return true;
  const restriction = value[10];
  return (Array.isArray(restriction) ? restriction[1] : value[7]) !== null;
}

/** A key's hash; null for a deleted key, and for everything else. */
function hashOf({ kind, value }: Definition): string | null {
  const hash = kind === "keys" && value !== null && value.length > 3 ? value[0] : null;
  return typeof hash === "string" ? hash : null;
}
