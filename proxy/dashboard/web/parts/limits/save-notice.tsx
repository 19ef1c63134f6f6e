/** Above the button that saves: what that does to counters. */
import type { SaveEffect } from "../../logic/limit-draft.js";
import { Icon } from "../icon.js";

export function SaveNotice({
  effect,
  words,
}: {
  readonly effect: SaveEffect;
  readonly words: Readonly<Record<SaveEffect, string>>;
}) {
  return (
    <p class={effect === "moves" ? "notice warn" : "notice"} aria-live="polite">
      <Icon name={effect === "moves" ? "reset" : "info"} />
      <span>{words[effect]}</span>
    </p>
  );
}
