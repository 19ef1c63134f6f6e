import t from "tap";
import { firstState, onKey, type TopState } from "../../../bin/live/top-state.js";

function after(keys: readonly string[], lines = 3, from: TopState = firstState): TopState {
  return keys.reduce((state, key) => onKey(state, key, lines).state, from);
}

t.test("keys mark lines, change the table, sort, pause and filter", async (t) => {
  for (const [keys, expected] of [
    [["down", "down", "down", "down"], { selected: 2 }],
    [["up"], { selected: 0 }],
    [["tab"], { tab: "budgets", selected: 0 }],
    [["down", "tab", "tab", "tab", "tab", "tab", "tab"], { tab: "rules", selected: 0 }],
    [["s"], { sort: "name" }],
    [["p"], { isPaused: true }],
    [["/", "q", "a", "backspace", "b", "enter", "s"], { filter: "qb", mode: "table" }],
    [["/", "a", "escape"], { filter: "", mode: "table" }],
    [["?"], { mode: "help" }],
    [["?", "x"], { mode: "table" }],
    [["r", "n"], { mode: "table", message: "nothing was reset" }],
    [["tab", "tab", "r"], { mode: "table", message: "there is nothing to reset here" }],
  ] as const)
    t.match(after(keys), expected, keys.join(" "));
});

t.test("only what is meant so quits, stops or resets", async (t) => {
  for (const [keys, key, action] of [
    [[], "q", "quit"],
    [[], "escape", "quit"],
    [["/"], "q", "none"],
    [["/"], "ctrl-c", "quit"],
    [["?"], "ctrl-z", "suspend"],
    [[], "y", "none"],
    [["r"], "y", "reset"],
    [["r"], "Y", "none"],
    [[], "e", "explain"],
    [["down"], "down", "none"],
  ] as const)
    t.equal(onKey(after(keys), key, 3).action, action, `${keys.join(" ")} ${key}`);
});
