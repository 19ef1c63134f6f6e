/** Asks before counters or spending are cleared, and before a rule or a budget is deleted. */
import { itemKey } from "../../logic/limit-draft.js";
import { Confirm } from "../confirm.js";
import { periodText } from "./limit-row.js";

interface Ends {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

interface ConfirmResetAllProps extends Ends {
  /** Of the list: its `reset` is below it. */
  readonly path: string;
  readonly words: {
    readonly title: string;
    readonly text: string;
    readonly submit: string;
    readonly done: string;
  };
}

export function ConfirmResetAll({ path, words, ...ends }: ConfirmResetAllProps) {
  return (
    <Confirm
      title={words.title}
      submit={words.submit}
      word="reset"
      change={{
        method: "POST",
        path: `${path}/reset`,
        body: { confirmation: "reset" },
        done: words.done,
      }}
      {...ends}
    >
      {words.text}
    </Confirm>
  );
}

interface ConfirmOneProps extends Ends {
  readonly kind: "reset" | "remove";
  readonly item: Parameters<typeof itemKey>[0] & Parameters<typeof periodText>[0];
  /** The field of the body that names the period. */
  readonly keyField: Parameters<typeof itemKey>[1];
  /** Of the list: DELETE is there, `reset-one` below it. */
  readonly path: string;
  readonly periods: Readonly<Record<string, string>>;
  readonly words: {
    readonly title: string;
    readonly text: (subject: string, period: string) => string;
    readonly submit: string;
    readonly done: (subject: string) => string;
  };
}

export function ConfirmOne({ kind, item, keyField, ...rest }: ConfirmOneProps) {
  const { path, periods, words, ...ends } = rest;
  const isReset = kind === "reset";
  return (
    <Confirm
      title={words.title}
      submit={words.submit}
      change={{
        method: isReset ? "POST" : "DELETE",
        path: isReset ? `${path}/reset-one` : path,
        body: itemKey(item, keyField),
        done: words.done(item.subject),
      }}
      {...ends}
    >
      {words.text(item.subject, periodText(item, periods))}
    </Confirm>
  );
}
