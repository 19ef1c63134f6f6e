/** Asks before counters or spending are cleared, and before rules or budgets are deleted. */
import { type DraftBody, itemKey } from "../../logic/limit-draft.js";
import { Confirm } from "../confirm.js";
import { limitName, periodText } from "./limit-row.js";

interface Ends {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

interface ConfirmResetAllProps extends Ends {
  /** The list's path; resets go to `reset` below it. */
  readonly path: string;
  readonly words: {
    readonly title: string;
    readonly text: string;
    readonly submit: string;
    readonly done: string;
  };
}

export function ConfirmResetAll({ path, words, ...ends }: ConfirmResetAllProps) {
  const { title, text, submit, done } = words;
  const change = {
    method: "POST",
    path: `${path}/reset`,
    body: { confirmation: "reset" },
  } as const;
  return (
    <Confirm title={title} submit={submit} word="reset" changes={[change]} done={done} {...ends}>
      {text}
    </Confirm>
  );
}

type Item = Parameters<typeof itemKey>[0] & Parameters<typeof limitName>[0];

interface ConfirmLimitsProps<One extends Item> extends Ends {
  readonly kind: "reset" | "remove";
  readonly items: readonly One[];
  /** The field of the body that names the period. */
  readonly keyField: Parameters<typeof itemKey>[1];
  /** The list's path, for DELETE and PUT; `reset-one` is below it. */
  readonly path: string;
  readonly periods: Readonly<Record<string, string>>;
  readonly words: {
    readonly title: (count: number) => string;
    readonly text: (subject: string, period: string) => string;
    readonly textOfMany: string;
    readonly submit: string;
    readonly done: (name: string) => string;
    readonly doneMany: (count: number) => string;
    /** The message after an undo; absent if there is none. */
    readonly restored?: string;
  };
  /** The body of the PUT that restores the deleted item. */
  readonly bodyOf: (item: One) => DraftBody;
}

export function ConfirmLimits<One extends Item>({
  kind,
  items,
  keyField,
  ...rest
}: ConfirmLimitsProps<One>) {
  const { path, periods, words, bodyOf, ...ends } = rest;
  const [first] = items;
  if (first === undefined) return null;
  const isOne = items.length === 1;
  const isReset = kind === "reset";
  return (
    <Confirm
      title={words.title(items.length)}
      names={items.map((item) => limitName(item, periods))}
      submit={words.submit}
      changes={items.map((item) => ({
        method: isReset ? "POST" : "DELETE",
        path: isReset ? `${path}/reset-one` : path,
        body: itemKey(item, keyField),
      }))}
      done={isOne ? words.done(first.subject) : words.doneMany(items.length)}
      {...(words.restored === undefined
        ? {}
        : {
            undo: {
              changes: items.map(bodyOf).flatMap((draft) => {
                return draft.ok ? [{ method: "PUT" as const, path, body: draft.body }] : [];
              }),
              done: words.restored,
            },
          })}
      {...ends}
    >
      {isOne ? words.text(first.subject, periodText(first, periods)) : words.textOfMany}
    </Confirm>
  );
}
