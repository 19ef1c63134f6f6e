/**
 * Keeps a conversation at one target, whose provider has it in its cache. By rendezvous hashing:
 * each target has a rank for each conversation, and the highest is the first to be tried. So every
 * proxy chooses the same one, without a table; and when a target goes, only its own conversations
 * move.
 */
import { targetName } from "../../shared/domain/target-name.js";
import type { WeightedTarget } from "./resolve-model.js";

/**
 * The targets with the conversation's own first; the others follow in their order, for when it has
 * no room or fails. A target with twice the weight has twice as many conversations.
 */
export function withOwnFirst(
  ordered: readonly WeightedTarget[],
  conversation: string,
): readonly WeightedTarget[] {
  let own = 0;
  let best = -Infinity;
  for (const [i, target] of ordered.entries()) {
    const rank = rankOf(target, conversation);
    if (rank > best || (rank === best && targetName(target) < targetName(ordered[own]!))) {
      best = rank;
      own = i;
    }
  }
  if (own === 0) return ordered;
  return [ordered[own]!, ...ordered.slice(0, own), ...ordered.slice(own + 1)];
}

/** The logarithm makes the shares as large as the weights; it is of a number between 0 and 1. */
function rankOf(target: WeightedTarget, conversation: string): number {
  const share = (hash(`${conversation}\n${targetName(target)}`) + 0.5) / 2 ** 32;
  return -target.weight / Math.log(share);
}

/** FNV-1a of 32 bits, mixed once more, since texts that differ at their end alone stay close. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2ae35);
  return (sum ^ (sum >>> 16)) >>> 0;
}
