/** Whether two states of the engine say the same, but for since when. Pure. */
import type { EngineState } from "./engine.js";

export function isSameState(one: EngineState, other: EngineState): boolean {
  return textOf(one) === textOf(other);
}

function textOf(state: EngineState): string {
  if (state.kind === "connecting") return state.kind;
  const said = state.kind === "away" ? [state.reason] : [state.epoch, ...state.serversAway];
  return JSON.stringify([state.kind, ...said]);
}
