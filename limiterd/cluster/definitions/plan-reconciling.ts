/**
 * Plans how a host and the engine reconcile their definitions when each may have some that the
 * other lacks: the host joins or was away for long, or the engine has lost data. Of each
 * definition, the value with the later stamp wins.
 */
import { outlineOf } from "../../keys/stored-key.js";
import type { Definition } from "./definition.js";
import { type DefinitionsState, fieldOf, type StampedDefinition } from "./definition-engine.js";

/** A definition that this host made before it joined the cluster. */
export interface OwnDefinition extends Definition {
  /** When it was last changed. */
  readonly changedAtMs: number;
}

interface Sides {
  readonly engine: { readonly state: DefinitionsState; readonly all: readonly StampedDefinition[] };
  readonly copy: { readonly clusterId: string | null; readonly all: Iterable<StampedDefinition> };
  /** Definitions of this host that aren't in its copy. */
  readonly own: readonly OwnDefinition[];
}

interface Reconciling {
  /** Definitions of the engine that this host lacks, or has with an earlier stamp. */
  readonly adopted: readonly StampedDefinition[];
  /** Definitions of this host's copy that the engine lacks, or has with an earlier stamp. */
  readonly reported: readonly StampedDefinition[];
  /** The host's own definitions, which all hosts share from now on. */
  readonly joined: readonly StampedDefinition[];
  /** Definitions that were deleted while the host was away and that the engine has trimmed. */
  readonly deleted: readonly StampedDefinition[];
  /** The host's own definitions that the engine's replaced. */
  readonly replaced: readonly Definition[];
  /** The host's own keys that got a new number, because another key has theirs. */
  readonly renumbered: readonly RenumberedKey[];
}

export interface RenumberedKey {
  readonly from: number;
  readonly to: number;
}

/**
 * The stamp of definitions of a joining host: below every stamp that an engine assigns, so that
 * they never replace one in the engine.
 */
const joiningStamp = 1;

export function planReconciling({ engine, copy, own }: Sides): Reconciling {
  const inEngine = new Map(engine.all.map((definition) => [fieldOf(definition), definition]));
  const inCopy = new Map<string, StampedDefinition>();
  for (const definition of copy.all) inCopy.set(fieldOf(definition), definition);
  const adopted: StampedDefinition[] = [];
  const reported: StampedDefinition[] = [];
  const deleted: StampedDefinition[] = [];
  for (const [field, definition] of inEngine) {
    const known = inCopy.get(field);
    if (known === undefined || isInForce(definition, known)) adopted.push(definition);
  }
  const isSameCluster = copy.clusterId === engine.state.clusterId;
  for (const [field, definition] of inCopy) {
    const { stamp } = definition;
    const engineStamp = inEngine.get(field)?.stamp;
    if (engineStamp !== undefined) {
      if (stamp > engineStamp) reported.push(definition);
    } else if (isSameCluster && stamp <= engine.state.trimmed) deleted.push(definition);
    else reported.push(definition);
  }
  return { ...join(own, inEngine, inCopy), adopted, reported, deleted };
}

/** Whether a definition that was read from the engine replaces the host's copy of it. */
export function isInForce(received: StampedDefinition, own: StampedDefinition): boolean {
  return (
    received.stamp > own.stamp ||
    (received.stamp === own.stamp && JSON.stringify(received.value) !== JSON.stringify(own.value))
  );
}

function join(
  own: readonly OwnDefinition[],
  theirs: ReadonlyMap<string, StampedDefinition>,
  mine: ReadonlyMap<string, StampedDefinition>,
): Pick<Reconciling, "joined" | "replaced" | "renumbered"> {
  const joined: StampedDefinition[] = [];
  const replaced: Definition[] = [];
  const renumbered: RenumberedKey[] = [];
  const hashes = new Set([...theirs.values()].map(hashOf).filter((hash) => hash !== null));
  let lastNumber = 0;
  for (const definition of [...theirs.values(), ...mine.values(), ...own])
    if (definition.kind === "keys") lastNumber = Math.max(lastNumber, Number(definition.key));
  for (const { changedAtMs, ...one } of own) {
    const other = theirs.get(fieldOf(one));
    if (one.kind === "keys") {
      const { hash, createdAtMs, hasEnded } = outlineOf(one.value);
      if (other === undefined) {
        if (hash === null || !hashes.has(hash)) joined.push({ ...one, stamp: joiningStamp });
      } else if (outlineOf(other.value).createdAtMs === createdAtMs) {
        // Both are the same key, so it has ended if it has ended on either side.
        if (hasEnded && !outlineOf(other.value).hasEnded)
          joined.push({ ...one, stamp: other.stamp + 1 });
      } else if (hash !== null && !hashes.has(hash)) {
        const to = ++lastNumber;
        renumbered.push({ from: Number(one.key), to });
        joined.push({ ...one, key: String(to), stamp: joiningStamp });
      }
    } else if (other === undefined || changedAtMs * 1000 > other.stamp)
      joined.push({ ...one, stamp: Math.max(joiningStamp, changedAtMs * 1000) });
    else if (JSON.stringify(one.value) !== JSON.stringify(other.value)) replaced.push(one);
  }
  return { joined, replaced, renumbered };
}

/** A key's hash; null for a deleted key and for other kinds. */
function hashOf({ kind, value }: Definition): string | null {
  return kind === "keys" ? outlineOf(value).hash : null;
}
