/** What `sluice top` shows and how keys change it. Pure; drawing is in `top-screen.ts`. */

export const tabs = ["rules", "budgets", "paths", "providers", "in flight", "refusals"] as const;
export type Tab = (typeof tabs)[number];

export interface TopState {
  readonly tab: Tab;
  /** The selected line, from 0. */
  readonly selected: number;
  /** By used share, highest first, or by name. */
  readonly sort: "use" | "name";
  readonly filter: string;
  readonly isPaused: boolean;
  /** The meaning of keys: the table, typing a filter, confirming a reset, or the help. */
  readonly mode: "table" | "filter" | "reset" | "help";
  /** A line below the table; may be empty. */
  readonly message: string;
}

export const firstState: TopState = {
  tab: "rules",
  selected: 0,
  sort: "use",
  filter: "",
  isPaused: false,
  mode: "table",
  message: "",
};

/** The action besides showing the new state. */
type TopAction = "quit" | "suspend" | "reset" | "explain" | "none";

const filterCharsMax = 100;

/** Keys are single characters, or names such as `up` and `ctrl-c`. */
export function onKey(
  state: TopState,
  key: string,
  lines: number,
): { readonly state: TopState; readonly action: TopAction } {
  if (key === "ctrl-c") return { state, action: "quit" };
  if (key === "ctrl-z") return { state, action: "suspend" };
  const updated = (changes: Partial<TopState>): ReturnType<typeof onKey> => ({
    state: { ...state, message: "", ...changes },
    action: "none",
  });
  switch (state.mode) {
    case "filter":
      return updated(typeFilter(state, key));
    case "reset":
      return key === "y"
        ? { state: { ...state, mode: "table", message: "" }, action: "reset" }
        : updated({ mode: "table", message: "nothing was reset" });
    case "help":
      return updated({ mode: "table" });
    case "table":
      return inTable(state, key, { lines, update: updated });
  }
}

function typeFilter({ filter }: TopState, key: string): Partial<TopState> {
  if (key === "enter") return { mode: "table" };
  if (key === "escape") return { mode: "table", filter: "" };
  if (key === "backspace") return { filter: filter.slice(0, -1) };
  const isText = [...key].length === 1 && filter.length < filterCharsMax;
  return isText ? { filter: filter + key, selected: 0 } : {};
}

function inTable(
  state: TopState,
  key: string,
  {
    lines,
    update,
  }: {
    readonly lines: number;
    readonly update: (changes: Partial<TopState>) => ReturnType<typeof onKey>;
  },
): ReturnType<typeof onKey> {
  const { selected, tab, sort, isPaused } = state;
  switch (key) {
    case "q":
    case "escape":
      return { state, action: "quit" };
    case "tab":
      return update({ tab: tabs[(tabs.indexOf(tab) + 1) % tabs.length]!, selected: 0 });
    case "up":
      return update({ selected: Math.max(0, selected - 1) });
    case "down":
      return update({ selected: Math.max(0, Math.min(lines - 1, selected + 1)) });
    case "s":
      return update({ sort: sort === "use" ? "name" : "use" });
    case "p":
      return update({ isPaused: !isPaused });
    case "/":
      return update({ mode: "filter" });
    case "?":
      return update({ mode: "help" });
    case "r":
      return tab === "rules" || tab === "budgets"
        ? update({ mode: "reset" })
        : update({ message: "there is nothing to reset here" });
    case "e":
      return { state, action: "explain" };
    default:
      return update({});
  }
}
