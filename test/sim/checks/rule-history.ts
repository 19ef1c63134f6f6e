/**
 * The rules as the admin operations leave them, one state after the other: what is on the disk must
 * be one of them, and none that is older than what was answered.
 */
import type { PeerState } from "../../../limiterd/peer.js";
import { resetKey, ruleFromStored } from "../../../limiterd/rules/stored-rule.js";
import type { DaemonState } from "../../../limiterd/state.js";
import { type RuleDefinition, ruleId, type Scope } from "../../../shared/domain/rule.js";
import type { Admin } from "../../../shared/wire/message-to-daemon.js";
import type { Disk } from "../processes/disk.js";
import type { World } from "../world.js";
import type { Generation, Truth } from "./truth.js";

export interface RuleHistory {
  /** The daemon has handled an operation; `at.answered`: it has answered in the same turn. */
  operated(
    peer: PeerState,
    message: Admin,
    at: { readonly tick: number; readonly state: DaemonState; readonly answered: boolean },
  ): void;
  answered(peer: PeerState, id: number): void;
  /**
   * A daemon has started: its rules are those on the disk, and those of the configuration that a
   * disk which takes nothing doesn't have yet.
   */
  restored(tick: number, state: DaemonState): void;
  mustBeWhatWasAnswered(): void;
}

/** The bodies that the workload sends. */
interface RuleBody {
  readonly scope: Scope;
  readonly subject: string;
  readonly limit_key?: { readonly period_seconds: number };
  readonly period?: string;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly per_child?: boolean;
}

export function createRuleHistory(world: World, disk: Disk, truth: Truth): RuleHistory {
  /** When a rule was created or reset, by its id and the `sinceLsn` of that moment. */
  const sinceTicks = new Map<string, number>();
  const sinceLsns = new Map<Generation, number>();
  const waiting = new Map<PeerState, Map<number, number>>();
  let history: string[] = ["[]"];
  let answered = 0;
  /** A start may end in the middle, with the configuration's rules written or not. */
  let starting = false;

  const asText = (rules: readonly (readonly [RuleDefinition, number])[]): string =>
    JSON.stringify(
      rules
        .map(([{ scope, subject, periodSeconds, maxRequests, maxTokens, perChild }, since]) =>
          [scope, subject, periodSeconds, maxRequests, maxTokens, perChild, since].join(" "),
        )
        .sort(),
    );
  /**
   * The rules as a restart would find them: the last reset of all rules counts for each that is
   * older.
   */
  const onDisk = () => {
    const resetLsn = Number(
      disk.entries("epochs").find(({ key }) => key === resetKey)?.value[0] ?? 0,
    );
    return disk.entries("rules").map(({ value }) => {
      const rule = ruleFromStored(value)!;
      return { ...rule, sinceLsn: Math.max(rule.sinceLsn, resetLsn) };
    });
  };
  const diskText = (): string =>
    asText(onDisk().map(({ definition, sinceLsn }) => [definition, sinceLsn]));

  function noteCreated(id: string, generation: Generation, tick: number, state: DaemonState): void {
    const { sinceLsn } = state.book.fresh(state.book.rules.get(id)!);
    sinceLsns.set(generation, sinceLsn);
    sinceTicks.set(`${id} ${sinceLsn}`, tick);
  }

  function reset(generation: Generation, tick: number, state: DaemonState): void {
    truth.reset(generation, tick);
    noteCreated(ruleId(generation.definition), generation, tick, state);
  }

  function operate({ op, body }: Admin, tick: number, state: DaemonState): void {
    if (op === "rate-limits.reset") {
      for (const generation of truth.generations.values()) reset(generation, tick, state);
      return;
    }
    const {
      scope,
      subject,
      limit_key: key,
      period,
      max_requests: maxRequests = null,
      max_tokens: maxTokens = null,
      per_child: perChild = false,
    } = body as RuleBody;
    const periodSeconds = key?.period_seconds ?? Number(period);
    const id = ruleId({ scope, subject, periodSeconds });
    const known = truth.generations.get(id);
    switch (op) {
      case "rate-limits.put": {
        const generation = truth.setRule(
          { scope, subject, periodSeconds, maxRequests, maxTokens, perChild },
          tick,
        );
        return generation === known ? undefined : noteCreated(id, generation, tick, state);
      }
      case "rate-limits.delete":
        return known === undefined ? undefined : truth.removeRule(id);
      case "rate-limits.reset-one":
        return known === undefined ? undefined : reset(known, tick, state);
      default:
        return;
    }
  }

  return {
    operated(peer, message, { tick, state, answered: atOnce }) {
      if (message.op === "status" || message.op === "rate-limits.list" || message.op === "explain")
        return;
      operate(message, tick, state);
      world.count(message.op);
      const now = asText(
        [...truth.generations.values()].map((generation) => [
          generation.definition,
          sinceLsns.get(generation)!,
        ]),
      );
      // What changes nothing isn't written.
      if (now === history.at(-1)) return;
      const ids = waiting.get(peer) ?? new Map<number, number>();
      waiting.set(peer, ids);
      ids.set(message.id, history.length);
      history.push(now);
      if (atOnce) this.answered(peer, message.id);
    },
    answered(peer, id) {
      const at = waiting.get(peer)?.get(id);
      if (at === undefined) return;
      answered = Math.max(answered, at);
      if (history.lastIndexOf(diskText()) < at)
        world.fail(
          `an admin operation is answered, but the disk has ${diskText()}, not ${history[at]}`,
        );
    },
    restored(tick, { book }) {
      const rules = onDisk();
      const known = new Set(rules.map(({ definition }) => ruleId(definition)));
      history = [diskText()];
      for (const rule of book.rules.values())
        if (rule.source === "config" && !known.has(rule.id)) rules.push(rule);
      for (const { definition, sinceLsn } of rules) {
        const since = `${ruleId(definition)} ${sinceLsn}`;
        const generation = truth.setRule(definition, sinceTicks.get(since) ?? tick);
        sinceTicks.set(since, generation.sinceTick);
        sinceLsns.set(generation, sinceLsn);
      }
      history.push(asText(rules.map(({ definition, sinceLsn }) => [definition, sinceLsn])));
      answered = 0;
      starting = false;
      waiting.clear();
    },
    mustBeWhatWasAnswered() {
      const now = diskText();
      if (!starting && history.lastIndexOf(now) < answered)
        world.fail(`the disk has the rules ${now}, but ${history[answered]} were answered`);
      starting = true;
    },
  };
}
