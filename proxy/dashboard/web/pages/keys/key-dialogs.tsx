/** The dialogs that issue, rotate and end keys. */
import { useState } from "preact/hooks";
import type { BudgetPage } from "../../../../../shared/api/budget-item.js";
import type { IssuedKey, KeyItem } from "../../../../../shared/api/key-item.js";
import type { RulePage } from "../../../../../shared/api/rule-item.js";
import type { Answer, Problem } from "../../data/gateway-client.js";
import {
  differingValue,
  type KeyField,
  keyBody,
  keyLimits,
  newKey,
} from "../../logic/key-draft.js";
import { formatCount } from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { useMay } from "../../parts/change-button.js";
import { Confirm, FailureText } from "../../parts/confirm.js";
import { Dialog, DialogFoot } from "../../parts/dialog.js";
import { SelectField, TextField } from "../../parts/field.js";
import { Icon } from "../../parts/icon.js";
import { keysTexts as texts } from "../../texts/keys-texts.js";

const address = "/admin/auth-keys";
/** The fields that show their own problems. */
const shownFields = ["name", "user_path", "models", "labels", "expires_at"];

type OnSecret = (value: string, notice: string | null) => void;

interface IssueProps {
  /** By the daemon's clock; null until it is known. */
  readonly serverTime: string | null;
  readonly onIssued: OnSecret;
  readonly onClose: () => void;
}

export function IssueDialog({ serverTime, onIssued, onClose }: IssueProps) {
  const { client } = useApp();
  const may = useMay();
  const [draft, setDraft] = useState(newKey);
  /** An invalid field that was found before the request. */
  const [wrong, setWrong] = useState<{ readonly field: KeyField; readonly text: string } | null>(
    null,
  );
  const form = texts.form;
  const { isBusy, problem, errorOf, submit } = useSubmit(
    async () => {
      setWrong(null);
      const checked = keyLimits(draft);
      if (!checked.ok) {
        setWrong({ field: checked.field, text: form.wrong[checked.field] ?? "" });
        return null;
      }
      // Makes the limits first: without them, the key could spend immediately.
      for (const limit of checked.limits) {
        const { field, path, body } = limit;
        const parameters = new URLSearchParams({ user_path: String(body["subject"]), limit: "50" });
        const existing = await client.get<RulePage & BudgetPage>(`${path}?${parameters}`);
        if (!existing.ok) return existing;
        const existingValue = differingValue(
          limit,
          existing.body.rate_limits ?? existing.body.budgets,
        );
        if (existingValue !== null) {
          setWrong({ field, text: form.hasOther(formatCount(existingValue)) });
          return null;
        }
        const answer = await client.send<IssuedKey>("PUT", path, body);
        if (!answer.ok) return answer;
      }
      return client.send<IssuedKey>("POST", address, keyBody(draft, serverTime));
    },
    ({ value, notice }) => onIssued(value, notice ?? null),
  );
  const field = (name: Exclude<KeyField, "days">, param: string = name) => ({
    label: form[name],
    hint: form.hints[name],
    value: draft[name],
    onInput: (value: string) => setDraft({ ...draft, [name]: value }),
    error: wrong?.field === name ? wrong.text : errorOf(param),
  });
  return (
    <Dialog title={form.title} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField {...field("name")} autoFocus />
        <TextField {...field("path", "user_path")} placeholder="/team/app" isMono />
        <TextField {...field("models")} placeholder={form.anyModel} isMono />
        <div class="form-row">
          {may("PUT /admin/rate-limits") && (
            <TextField {...field("perMinute")} kind="number" placeholder={form.noLimit} />
          )}
          {may("PUT /admin/budgets") && (
            <TextField {...field("monthly")} kind="number" placeholder={form.noLimit} />
          )}
        </div>
        <div class="form-row">
          <TextField {...field("labels")} />
          <SelectField
            label={form.expires}
            value={draft.days}
            // An object would list numeric names first.
            options={["", "30", "90", "365"].map((days) => [days, form.expiry[days as "30"]])}
            onChoose={(days) => setDraft({ ...draft, days })}
            error={errorOf("expires_at")}
          />
        </div>
        {problem !== null && wrong === null && !shownFields.includes(problem.field ?? "") && (
          <FailureText>{problem.message}</FailureText>
        )}
        <DialogFoot onCancel={onClose} submit={form.submit} busy={isBusy} />
      </form>
    </Dialog>
  );
}

interface RotateProps {
  readonly item: KeyItem;
  readonly onRotated: OnSecret;
  readonly onClose: () => void;
}

export function RotateDialog({ item: key, onRotated, onClose }: RotateProps) {
  const { client } = useApp();
  const words = texts.rotating;
  const [overlap, setOverlap] = useState("86400");
  const { isBusy, problem, submit } = useSubmit(
    () =>
      client.send<IssuedKey>("POST", `${address}/${encodeURIComponent(key.id)}/rotate`, {
        overlap_seconds: Number(overlap),
      }),
    ({ value, notice }) => onRotated(value, notice ?? null),
  );
  return (
    <Dialog title={words.title(key.name ?? key.id)} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p class="soft">{words.text}</p>
        <SelectField
          label={words.overlap}
          value={overlap}
          options={Object.entries(words.overlaps)}
          onChoose={setOverlap}
        />
        {problem !== null && <FailureText>{problem.message}</FailureText>}
        <DialogFoot onCancel={onClose} submit={words.submit} busy={isBusy} />
      </form>
    </Dialog>
  );
}

interface EndProps {
  readonly items: readonly KeyItem[];
  readonly how: "deactivate" | "delete";
  readonly onEnded: () => void;
  readonly onClose: () => void;
}

export function EndKeysDialog({ items: keys, how, onEnded, onClose }: EndProps) {
  const words = how === "delete" ? texts.deleting : texts.deactivating;
  const names = keys.map(({ id, name }) => (name === null ? id : `${name} · ${id}`));
  const subject = keys.length === 1 ? (keys[0]!.name ?? keys[0]!.id) : texts.keys(keys.length);
  return (
    <Confirm
      title={words.title(subject)}
      names={names}
      submit={words.submit}
      changes={keys.map(({ id }) => {
        const keyPath = `${address}/${encodeURIComponent(id)}`;
        return how === "delete"
          ? { method: "DELETE", path: keyPath, body: undefined }
          : { method: "POST", path: `${keyPath}/deactivate`, body: undefined };
      })}
      done={words.done(subject)}
      onDone={onEnded}
      onClose={onClose}
    >
      {words.text}
    </Confirm>
  );
}

interface Submit {
  readonly isBusy: boolean;
  readonly problem: Problem | null;
  /** The gateway's message about a field; null if there is none. */
  errorOf(field: string): string | null;
  readonly submit: (event: Event) => void;
}

/** `question`: null if a field is invalid, so that nothing is sent. */
function useSubmit<T>(
  question: () => Promise<Answer<T> | null>,
  onDone: (body: T) => void,
): Submit {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const run = async (): Promise<void> => {
    setBusy(true);
    const answer = await question();
    setBusy(false);
    setProblem(answer === null || answer.ok ? null : answer.problem);
    if (answer?.ok === true) onDone(answer.body);
  };
  return {
    isBusy,
    problem,
    errorOf: (field) => (problem?.field === field ? problem.message : null),
    submit(event) {
      event.preventDefault();
      if (!isBusy) void run();
    },
  };
}

const secretTexts = texts.secret;

interface SecretDialogProps {
  readonly value: string;
  /** The gateway's notice about the key. */
  readonly notice: string | null;
  readonly onClose: () => void;
}

export function SecretDialog({ value, notice, onClose }: SecretDialogProps) {
  const [state, setState] = useState<"new" | "copied" | "failed">("new");
  const copy = (): void => {
    // Browsers omit the clipboard if the page came from another host by plain HTTP.
    const copying = navigator.clipboard?.writeText(value) ?? Promise.reject(new Error());
    copying.then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  return (
    <Dialog title={secretTexts.title} onClose={onClose}>
      <div class="form">
        <p>{secretTexts.text}</p>
        <code class="secret">{value}</code>
        {notice !== null && (
          <p class="notice warn">
            <Icon name="alert" />
            {notice}
          </p>
        )}
        <p class="soft small" role="status">
          {state === "failed" ? secretTexts.copyFailed : ""}
        </p>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            {secretTexts.done}
          </button>
          <button type="button" class="button primary" onClick={copy}>
            <Icon name={state === "copied" ? "check" : "copy"} />
            {state === "copied" ? secretTexts.copied : secretTexts.copy}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
